import { resolve } from "node:path";
import type { StackValidationPolicy } from "@pulumi/policy";
import {
  checkAccount,
  checkWorker,
  CheckError,
  type LimitFinding,
  type Route,
  type UsageModel,
  type WorkersPlan,
} from "../workers-limits/check";
import { isCloudflare, list, member, text, type Declared } from "./declared";
import { onStack, type Configurable, type PolicyOptions, type Violation } from "./define";

/** Options of {@link workersWithinLimits} and {@link workersNearLimits}. */
export interface WorkersPolicyOptions extends PolicyOptions {
  /**
   * The account's Workers plan. The pack's configuration overrides it.
   *
   * @defaultValue `"paid"`
   */
  readonly plan?: "free" | "paid" | "enterprise";
  /**
   * The usage model of a paid plan. The pack's configuration overrides it.
   *
   * @defaultValue `"standard"`
   */
  readonly usageModel?: "bundled" | "unbound" | "standard";
}

/**
 * Rejects Workers from `@pulumi/cloudflare` that exceed a limit of their plan: the size of the code, the environment
 * variables, the routes, the Cron Triggers or the number of Workers in the stack. Cloudflare would reject them in the
 * middle of an update.
 *
 * @example The free plan
 * ```ts
 * import { PolicyPack } from "@pulumi/policy";
 * import { workersWithinLimits } from "pulumi-edgeguard/policies";
 *
 * new PolicyPack("edge", { policies: [workersWithinLimits({ plan: "free" })] });
 * ```
 */
export function workersWithinLimits(options: WorkersPolicyOptions = {}): StackValidationPolicy {
  return onStack(
    {
      name: "workers-limits",
      description: "Workers are within the limits of their plan.",
      enforcementLevel: options.enforcementLevel,
    },
    configOf(options),
    (resources, config) => findings(resources, config, "error"),
  );
}

/**
 * Warns about Workers from `@pulumi/cloudflare` that are near a limit of their plan: at 80% of it or more. Also warns
 * about a `contentFile` that it can't read, because the Worker's size isn't checked then.
 *
 * @example The free plan
 * ```ts
 * import { PolicyPack } from "@pulumi/policy";
 * import { workersNearLimits } from "pulumi-edgeguard/policies";
 *
 * new PolicyPack("edge", { policies: [workersNearLimits({ plan: "free" })] });
 * ```
 */
export function workersNearLimits(options: WorkersPolicyOptions = {}): StackValidationPolicy {
  return onStack(
    {
      name: "workers-near-limits",
      description: "Workers are not near the limits of their plan.",
      enforcementLevel: options.enforcementLevel ?? "advisory",
    },
    configOf(options),
    (resources, config) => findings(resources, config, "warning"),
  );
}

/** The part of a limit finding that a policy uses. */
type Finding = Pick<LimitFinding, "level" | "message">;

interface Plan {
  readonly plan: WorkersPlan;
  readonly usageModel: UsageModel;
}

const PLANS: WorkersPlan[] = ["free", "paid", "enterprise"];
const USAGE_MODELS: UsageModel[] = ["bundled", "unbound", "standard"];

function configOf({ plan = "paid", usageModel = "standard" }: WorkersPolicyOptions): Configurable<Plan> {
  return {
    schema: {
      plan: { type: "string", enum: PLANS, default: plan },
      usageModel: { type: "string", enum: USAGE_MODELS, default: usageModel },
    },
    values: { plan, usageModel },
  };
}

/** Returns the findings with a given level. */
function findings(
  resources: readonly Declared[],
  { plan, usageModel }: Plan,
  level: "error" | "warning",
): Violation[] {
  const workers = resources.filter((resource) => isCloudflare(resource, "WorkerScript"));
  const each = workers.flatMap((resource) => findingsOf(resource, resources, { plan, usageModel }));
  const account = workers.slice(0, 1).flatMap(({ urn }) => {
    const cronTriggers = resources.reduce((sum, resource) => sum + cronsOf(resource).length, 0);
    const found = checkAccount({ plan, workers: workers.length, cronTriggers });
    return found.map((finding) => ({ urn, finding }));
  });
  return [...each, ...account]
    .filter(({ finding }) => finding.level === level)
    .map(({ urn, finding }) => ({ urn, message: finding.message }));
}

function findingsOf(
  resource: Declared,
  resources: readonly Declared[],
  plan: Plan,
): { urn: string; finding: Finding }[] {
  const { urn, props } = resource;
  const script = text(props, "scriptName") ?? text(props, "name");
  const own = resources.filter(
    (other) =>
      script !== undefined && [text(other.props, "scriptName"), text(other.props, "script")].includes(script),
  );
  const content = text(props, "content");
  const file = text(props, "contentFile");
  const worker = {
    ...plan,
    envVars: variablesOf(props),
    crons: own.flatMap(cronsOf),
    routes: own.flatMap(routesOf),
  };
  const check = (): readonly Finding[] => {
    if (content !== undefined) return checkWorker({ ...worker, bundle: Buffer.from(content) });
    if (file === undefined) return checkWorker(worker);
    try {
      return checkWorker({ ...worker, bundle: resolve(programFolder(), file) });
    } catch (error) {
      if (!(error instanceof CheckError)) throw error;
      return [...checkWorker(worker), unreadable(file)];
    }
  };
  return check().map((finding) => ({ urn, finding }));
}

/**
 * Warns about a file that can't be read. It's not an error: with `pulumi --cwd`, a pack can't know the program's
 * directory, so the file may well exist.
 */
function unreadable(file: string): Finding {
  return {
    level: "warning",
    message: `contentFile: the Worker's size isn't checked, because ${JSON.stringify(file)} can't be read in ${programFolder()}. Run pulumi in the program's directory, or set an absolute path.`,
  };
}

/**
 * Returns a Worker's environment variables: its text and JSON bindings, in either form that @pulumi/cloudflare has for
 * them.
 */
function variablesOf(props: Declared["props"]): Record<string, unknown> {
  const typed = list(props, "bindings").filter((binding) =>
    ["plain_text", "secret_text", "json"].includes(text(binding, "type") ?? ""),
  );
  const older = [...list(props, "plainTextBindings"), ...list(props, "secretTextBindings")];
  return Object.fromEntries(
    [...typed, ...older].map((binding, i) => [
      text(binding, "name") ?? `binding ${i + 1}`,
      member(binding, "text") ?? member(binding, "json") ?? "",
    ]),
  );
}

function cronsOf(resource: Declared): string[] {
  if (!isCloudflare(resource, "WorkerCronTrigger")) return [];
  const { props } = resource;
  return [...list(props, "schedules"), ...list(props, "body")].map((schedule) =>
    typeof schedule === "string" ? schedule : (text(schedule, "cron") ?? ""),
  );
}

function routesOf(resource: Declared): Route[] {
  const pattern = isCloudflare(resource, "WorkerRoute") ? text(resource.props, "pattern") : undefined;
  if (pattern === undefined) return [];
  const zone = text(resource.props, "zoneId");
  return [zone === undefined ? pattern : { pattern, zone }];
}

/**
 * Returns the directory in which Pulumi runs. The pack's own process runs in the pack's directory, but PWD is still the
 * program's directory.
 */
function programFolder(): string {
  return process.env["PWD"] ?? process.cwd();
}
