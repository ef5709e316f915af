import * as pulumi from "@pulumi/pulumi";
import { doubtfulConfig, unknownConfigKeys } from "./settings";

/** Checks a program's stack configuration, and tells runs of programs apart. */

/**
 * Creates an error for the program's author whose message says what's wrong and where. It has no stack trace, because
 * Node 20 takes half a minute to render one through the SDK's source maps.
 */
export function refusal(message: string): pulumi.RunError {
  const error = new pulumi.RunError(message);
  error.stack = message;
  return error;
}

/**
 * Throws for unknown configuration keys, and warns about credentials that are misplaced or not secret. Does so once per
 * run.
 */
export function checkStackConfig(): void {
  const run = currentRun() ?? NO_PROGRAM;
  if (CONFIG_SEEN.has(run)) return;
  const config = pulumi.runtime.allConfig();
  const [problem] = unknownConfigKeys(Object.keys(config));
  if (problem !== undefined) throw refusal(`edgeguard: ${problem}`);
  const doubts = doubtfulConfig(config, {
    project: pulumi.getProject(),
    isSecret: isConfigSecret,
    env: process.env,
  });
  for (const doubt of doubts) void pulumi.log.warn(`edgeguard: ${doubt}`);
  CONFIG_SEEN.add(run);
}

/**
 * Whether `EDGEGUARD_SAVED_PLAN` is set because previews make a plan for `pulumi up --plan`. It isn't a stack setting,
 * because then it would also hide findings from a reviewer's preview.
 */
export function makesSavedPlan(env: Readonly<Record<string, string | undefined>>): boolean {
  const text = env["EDGEGUARD_SAVED_PLAN"]?.trim() ?? "";
  if (!["", "true", "false"].includes(text))
    throw refusal(`edgeguard: EDGEGUARD_SAVED_PLAN is ${JSON.stringify(text)} but must be true or false.`);
  return text === "true";
}

/**
 * Whether a configuration key is secret. Calls a function that isn't in the SDK's types. If the SDK doesn't have it,
 * every key counts as secret.
 */
function isConfigSecret(key: string): boolean {
  const known: unknown = Reflect.get(pulumi.runtime, "isConfigSecret");
  return typeof known !== "function" || Reflect.apply(known, pulumi.runtime, [key]) === true;
}

const CONFIG_SEEN = new WeakSet<object>();
const NO_PROGRAM = {}; // A class is being used outside any run. The SDK refuses that next.

/**
 * Returns the object that identifies the current run of a program: its stack or, in a unit test, what `setMocks` set.
 * Undefined in a plain script. With the Automation API or mocks, one process may run many programs.
 */
export function currentRun(): object | undefined {
  return pulumi.runtime.getStackResource() ?? pulumi.runtime.getMonitor();
}
