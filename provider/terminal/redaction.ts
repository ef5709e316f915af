import { Redactor } from "../api/redact";
import { secretsIn } from "../runtime/settings";

/** Knows the secrets of the environment. */
export function redactorFor(env: Readonly<Record<string, string | undefined>>): Redactor {
  const redactor = new Redactor();
  redactor.add(...secretsIn(() => undefined, env));
  return redactor;
}
