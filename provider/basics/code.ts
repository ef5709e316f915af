import { isJsonObject } from "./json";

/** Formats a value as TypeScript code on one line. */
export function asCode(value: unknown): string {
  if (value === undefined) return "not set";
  if (Array.isArray(value)) return `[${value.map(asCode).join(", ")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  if (members.length === 0) return "{}";
  return `{ ${members.map(([key, member]) => `${keyText(key)}: ${asCode(member)}`).join(", ")} }`;
}

export const JS_NAME = /^[A-Za-z_$][\w$]*$/;

/** Formats a property's name as TypeScript code. */
export function keyText(key: string): string {
  // A plain `__proto__:` would set the object's prototype.
  if (key === "__proto__") return '["__proto__"]';
  return JS_NAME.test(key) ? key : JSON.stringify(key);
}

/** Escapes text in YAML that Pulumi would read as a reference: `${` becomes `$${`. */
export function escapeReferences(text: string): string {
  return text.replace(/\$(?=[${])/g, "$$$$");
}
