import * as pulumi from "@pulumi/pulumi";
import { doubtfulConfig, unknownConfigKeys } from "./settings";

/** What concerns one run of a program as a whole: its stack's configuration, and how it is refused. */

/**
 * An error of the program that is told in one sentence. It carries no stack: the sentence says where, and rendering a
 * trace through the SDK's source maps takes Node 20 half a minute.
 */
export function refusal(message: string): pulumi.RunError {
  const error = new pulumi.RunError(message);
  error.stack = message;
  return error;
}

/** Refuses configuration that nothing reads, and warns of credentials that are misplaced or not secret; once per run. */
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

/** The SDK's own, which its types leave out. Without it nothing is said. */
function isConfigSecret(key: string): boolean {
  const known: unknown = Reflect.get(pulumi.runtime, "isConfigSecret");
  return typeof known !== "function" || Reflect.apply(known, pulumi.runtime, [key]) === true;
}

const CONFIG_SEEN = new WeakMap<object, boolean>();
const OUTSIDE = {}; // A unit test with mocks has no stack resource.

/** One value per run of a program: one process may run many, for several stacks, through the Automation API. */
export function perRun<T>(values: WeakMap<object, T>, make: () => T): T {
  const run = pulumi.runtime.getStackResource() ?? OUTSIDE;
  const found = values.get(run);
  if (found !== undefined) return found;
  const made = make();
  values.set(run, made);
  return made;
}
