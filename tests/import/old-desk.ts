import { readFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "../support/repository";
import { ImportDesk } from "./support";

/** In the state only, in every argument: nothing of the state may be written but IDs. */
export const CANARY = "c4nary";
/** What the API returns for a credential and a KV value. */
export const CREDENTIAL = "hush-credential";
export const VALUE = "hush-value";

const STATE = readFileSync(join(REPOSITORY, "tests/import/fixtures/terraform.tfstate"), "utf8");
const PHASE = "http_request_firewall_managed";

/** A zone and an account with the objects that the fixture lists, and an entry that it doesn't. */
export class OldDesk {
  private constructor(
    readonly desk: ImportDesk,
    readonly ids: Readonly<Record<string, string>>,
  ) {}

  static async start(): Promise<OldDesk> {
    const desk = await ImportDesk.from();
    const zone = desk.api.zones.empty;
    const skip = { action: "skip", action_parameters: { ruleset: "current" } };
    const ruleset = await desk.send("POST", `/zones/${zone}/rulesets`, {
      name: "managed",
      kind: "zone",
      phase: PHASE,
      rules: [
        { ...skip, expression: 'http.request.uri.path eq "/health"', description: "Health checks" },
        {
          action: "execute",
          action_parameters: { id: "efb7b8c949ac4650a09736fc376e9aee" },
          expression: "true",
          description: "Cloudflare's rules",
        },
        { ...skip, expression: "ip.src eq 192.0.2.1", description: "Our office" },
      ],
    });
    const rules = (ruleset["rules"] as { id: string }[]).map(({ id }) => id);
    const job = async (name: string): Promise<unknown> => {
      const destination = `https://logs.example/in?header_Authorization=${CREDENTIAL}`;
      const members = { name, dataset: "http_requests", enabled: true, destination_conf: destination };
      return (await desk.send("POST", `/zones/${zone}/logpush/jobs`, members))["id"];
    };
    const policy = await desk.send("POST", `/zones/${zone}/page_shield/policies`, {
      description: "Checkout",
      action: "log",
      expression: "true",
      enabled: true,
      value: "script-src 'self'",
    });
    const namespaces = "/accounts/{account}/storage/kv/namespaces";
    const { id: namespace } = await desk.send("POST", namespaces, { title: "flags" });
    await desk.send(
      "PUT",
      `${namespaces}/${String(namespace)}/bulk`,
      ["flag/0", "flag/1", "other"].map((key) => ({ key, value: VALUE })),
    );
    const ids = {
      zone,
      account: desk.account,
      ruleset: ruleset["id"],
      ...Object.fromEntries(rules.map((id, index) => [`rule${index}`, id])),
      audit: await job("audit"),
      quoted: await job("errors"),
      policy: policy["id"],
      namespace,
    };
    desk.api.clearRequests();
    return new OldDesk(desk, Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, String(id)])));
  }

  /** The fixture with the IDs of this API's objects. */
  get state(): Stored {
    const filled = STATE.replace(/"\{(\w+)\}"/g, (_, name: string) => {
      const id = this.ids[name] ?? "";
      return /^\d{1,9}$/.test(id) ? id : JSON.stringify(id); // Version 5 stores the ID of a job as a number.
    });
    return JSON.parse(filled) as Stored;
  }

  /** Imports from a state on standard input. */
  async import(state: unknown, ...args: readonly string[]): Promise<{ code: number; stderr: string }> {
    const input = typeof state === "string" ? state : JSON.stringify(state);
    return this.desk.run(["--from", "-", "--with-values", ...args], { input });
  }
}

export interface Stored {
  version: number;
  resources: {
    mode: string;
    type: string;
    name: string;
    module?: string;
    provider: string;
    instances: {
      index_key?: string | number;
      status?: string;
      deposed?: string;
      attributes: Record<string, unknown>;
    }[];
  }[];
}
