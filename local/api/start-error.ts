/** The local API could not start, for a reason that its user can remove. The message is complete. */
export class LocalApiStartError extends Error {
  override readonly name = "LocalApiStartError";
}
