import * as pulumi from "@pulumi/pulumi";
import { doubtfulConfig, unknownConfigKeys } from "./settings";

/** One run of a program: checks its stack's configuration. */

/**
 * An error of the program in one sentence. It has no stack trace: the sentence says where, and rendering a trace through
 * the SDK's source maps takes Node 20 half a minute.
 */
export function refusal(message: string): pulumi.RunError {
  const error = new pulumi.RunError(message);
  error.stack = message;
  return error;
}

/** Refuses unknown configuration keys, and warns about credentials that are misplaced or not secret. Once per run. */
export function checkStackConfig(): void {
  perRun(CONFIG_SEEN, () => {
    const config = pulumi.runtime.allConfig();
    const [problem] = unknownConfigKeys(Object.keys(config));
    if (problem !== undefined) throw refusal(`edgeguard: ${problem}`);
    const doubts = doubtfulConfig(config, {
      project: pulumi.getProject(),
      isSecret: isConfigSecret,
      env: process.env,
    });
    for (const doubt of doubts) void pulumi.log.warn(`edgeguard: ${doubt}`);
    return true;
  });
}

/** The SDK's function, which its types omit. Without it, nothing is warned about. */
function isConfigSecret(key: string): boolean {
  const known: unknown = Reflect.get(pulumi.runtime, "isConfigSecret");
  return typeof known !== "function" || Reflect.apply(known, pulumi.runtime, [key]) === true;
}

const CONFIG_SEEN = new WeakMap<object, boolean>();
const NO_STACK = {}; // A unit test with mocks has no stack resource.

/** One value per run of a program. With the Automation API, one process may run many. */
export function perRun<T>(values: WeakMap<object, T>, make: () => T): T {
  const run = pulumi.runtime.getStackResource() ?? NO_STACK;
  const found = values.get(run);
  if (found !== undefined) return found;
  const made = make();
  values.set(run, made);
  return made;
}
