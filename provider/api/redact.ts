const SHORTEST_SECRET = 4; // Shorter strings occur in any text; replacing them would garble it and hide nothing.

/** Replaces secrets in text that people read: errors, messages, debug lines. */
export class Redactor {
  readonly #secrets = new Set<string>();

  /** From now on `secret` is shown as `[secret]`, also where it stands URL-encoded or JSON-escaped. */
  add(...secrets: readonly (string | undefined)[]): void {
    for (const secret of secrets) {
      if (secret === undefined || secret.length < SHORTEST_SECRET) continue;
      this.#secrets.add(secret);
      this.#secrets.add(encodeURIComponent(secret));
      this.#secrets.add(JSON.stringify(secret).slice(1, -1));
    }
  }

  redact(text: string): string {
    let out = text;
    // Longest first: one secret may be part of another.
    for (const secret of [...this.#secrets].sort((a, b) => b.length - a.length)) {
      out = out.replaceAll(secret, "[secret]");
    }
    return out;
  }
}
