import { resolve } from "node:path";
import { checkAccount, checkWorker, type LimitFinding, type Route } from "pulumi-edgeguard";
import { isCloudflare, list, member, text, type Declared, type Settings, type Violation } from "./declared";

/** Workers over a limit of their plan (`"error"`) or near it (`"warning"`), for Workers made with @pulumi/cloudflare. */
export function workerFindings(
  resources: readonly Declared[],
  settings: Settings,
  level: "error" | "warning",
): Violation[] {
  const workers = resources.filter((resource) => isCloudflare(resource, "WorkerScript"));
  const each = workers.flatMap((resource) => findingsOf(resource, resources, settings));
  const account = workers.slice(0, 1).flatMap(({ urn }) => {
    const cronTriggers = resources.reduce((sum, resource) => sum + cronsOf(resource).length, 0);
    const found = checkAccount({ plan: settings.plan, workers: workers.length, cronTriggers });
    return found.map((finding) => ({ urn, finding }));
  });
  return [...each, ...account]
    .filter(({ finding }) => finding.level === level)
    .map(({ urn, finding }) => ({ urn, message: finding.message }));
}

function findingsOf(
  resource: Declared,
  resources: readonly Declared[],
  { plan, usageModel, folder }: Settings,
): { urn: string; finding: LimitFinding }[] {
  const { urn, props } = resource;
  const script = text(props, "scriptName") ?? text(props, "name");
  const own = resources.filter(
    (other) =>
      script !== undefined && [text(other.props, "scriptName"), text(other.props, "script")].includes(script),
  );
  const content = text(props, "content");
  const file = text(props, "contentFile");
  const findings = checkWorker({
    plan,
    usageModel,
    ...(content !== undefined
      ? { bundle: Buffer.from(content) }
      : file === undefined
        ? {}
        : { bundle: resolve(folder, file) }),
    envVars: variablesOf(props),
    crons: own.flatMap(cronsOf),
    routes: own.flatMap(routesOf),
  });
  return findings.map((finding) => ({ urn, finding }));
}

/** Text and JSON bindings, as the versions of @pulumi/cloudflare declare them. */
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
