import * as pulumi from "@pulumi/pulumi";
import { doubtfulConfig, unknownConfigKeys } from "./settings";

/** One run of a program: checks its stack's configuration. */

/**
 * Creates an error that tells the program's author, in one sentence, what's wrong. It has no stack trace: the sentence
 * says where, and Node 20 takes half a minute to render a trace through the SDK's source maps.
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

/**
 * Whether `EDGEGUARD_SAVED_PLAN` says that previews make a plan for `pulumi up --plan`. It isn't a stack setting,
 * because it would then hide findings from a reviewer's preview.
 */
export function makesSavedPlan(env: Readonly<Record<string, string | undefined>>): boolean {
  const text = env["EDGEGUARD_SAVED_PLAN"]?.trim() ?? "";
  if (!["", "true", "false"].includes(text))
    throw refusal(`edgeguard: EDGEGUARD_SAVED_PLAN is ${JSON.stringify(text)} but must be true or false.`);
  return text === "true";
}

/** Calls an SDK function that isn't in the SDK's types. If it's missing, these warnings are left out. */
function isConfigSecret(key: string): boolean {
  const known: unknown = Reflect.get(pulumi.runtime, "isConfigSecret");
  return typeof known !== "function" || Reflect.apply(known, pulumi.runtime, [key]) === true;
}

const CONFIG_SEEN = new WeakMap<object, boolean>();
const NO_PROGRAM = {}; // A class is being used outside any run. The SDK refuses that next.

/**
 * Returns the object that identifies the current run of a program: its stack or, in a unit test, what `setMocks` set.
 * Undefined in a plain script. With the Automation API or mocks, one process may run many programs.
 */
export function currentRun(): object | undefined {
  return pulumi.runtime.getStackResource() ?? pulumi.runtime.getMonitor();
}

/** Returns one value per run of a program. Call it before awaiting anything, because the wait may outlast the run. */
export function perRun<T>(values: WeakMap<object, T>, make: () => T): T {
  const run = currentRun() ?? NO_PROGRAM;
  const found = values.get(run);
  if (found !== undefined) return found;
  const made = make();
  values.set(run, made);
  return made;
}
