/** A source of entries cannot be read, or holds what the service does not take. */
export class SourceError extends Error {
  override readonly name = "SourceError";
}
