import type { LocalApi } from "edgeguard-local";
import { sameJson } from "../../provider/basics/json";
import { Operation } from "../../tests/support/operation";
import type { ResourceName } from "../../tests/messages/mistakes/index";
import { SAMPLES } from "../../tests/support/samples";
import { code } from "./markdown";

/** What a resource sends at each step of its life, as the local API records it. */
export async function requestsOf(
  api: LocalApi,
  type: ResourceName,
): Promise<readonly (readonly [step: string, requests: string[]])[]> {
  api.reset();
  const { args, changed } = SAMPLES[type](api);
  const steps: (readonly [string, string[]])[] = [];
  const step = async <T>(title: string, work: (op: Operation) => Promise<T>): Promise<T> => {
    api.clearRequests();
    const op = new Operation(api, { inNoTime: api });
    try {
      return await work(op);
    } finally {
      await op.host.close();
      steps.push([title, api.requests.map(templateOf)]);
    }
  };
  const preview = await step("Preview of a new resource", (op) => op.preview(type, args));
  const created = await step("Create", (op) => op.create(type, preview.inputs));
  await step("Preview, nothing changed", (op) => op.preview(type, args, created));
  // A step of a migration is confirmed by the digest that its preview asks for.
  const asked = (await new Operation(api).refusals(type, changed, created)).join(" ");
  const confirm = /confirm: "([0-9a-f]{64})"/.exec(asked)?.[1];
  const wanted = confirm === undefined ? changed : { ...changed, confirm };
  const differing = Object.keys(wanted).filter((name) => !sameJson(wanted[name], args[name]));
  const title = `Preview of a change of ${differing.map(code).join(" and ")}`;
  const change = await step(title, (op) => op.preview(type, wanted, created));
  const updated =
    change.step === "update"
      ? await step("Update", (op) => op.update(type, change.inputs, created))
      : created;
  await step("Refresh", (op) => op.refresh(type, updated));
  await step("Destroy", (op) => op.destroy(type, updated));
  return steps;
}

/** What comes after these segments of a path is an ID or a key. */
const IDS: Readonly<Record<string, string>> = {
  zones: "zone_id",
  accounts: "account_id",
  policies: "policy_id",
  scripts: "script_id",
  connections: "connection_id",
  cookies: "cookie_id",
  namespaces: "namespace_id",
  values: "key_name",
  metadata: "key_name",
  rulesets: "ruleset_id",
  rules: "rule_id",
  jobs: "job_id",
  datasets: "dataset_id",
  packages: "package_id",
};

export function templateOf({ method, path }: { readonly method: string; readonly path: string }): string {
  const segments = path.split("?")[0]?.split("/") ?? [];
  const named = segments.map((segment, i) => {
    const id = IDS[segments[i - 1] ?? ""];
    return id === undefined || segment === "phases" ? segment : `{${id}}`;
  });
  return `${method} ${named.join("/")}`;
}
