import type { LocalApi } from "edgeguard-local";
import { REGISTER } from "../../provider/register";
import type { JsonObject } from "../../provider/basics/json";
import { USUAL_WAF } from "../local-api/waf-client";
import { Operation, rawGet, type Recorded } from "../support/operation";
import { isWrite } from "../support/is-write";

export const TYPE = "WafMigration";

export interface Rule {
  readonly id: string;
  readonly ref: string;
  readonly action: string;
  readonly expression: string;
  readonly description: string;
  readonly enabled: boolean;
  readonly action_parameters: JsonObject;
}

/** Resets the local API to its seeded state, which is faster than starting another. */
export function resetApi(api: LocalApi): void {
  api.reset();
  api.clearFaults();
  api.clearRequests();
  api.changeWaf(USUAL_WAF);
}

/** The digest that a preview without confirmation asks for. */
export async function digestFor(
  api: LocalApi,
  inputs: JsonObject,
  previous?: Recorded,
  op = new Operation(api),
): Promise<string> {
  const refusals = await op.refusals(TYPE, inputs, previous);
  await op.host.close();
  const digest = /set confirm: "([0-9a-f]{64})"/.exec(refusals.join("\n"))?.[1];
  if (digest === undefined) throw new Error(`no digest is requested: ${JSON.stringify(refusals)}`);
  return digest;
}

/** Migrates the zone with the confirmation that it needs. The preview for it has done the live checks already. */
export async function migrated(api: LocalApi, inputs: JsonObject, previous?: Recorded): Promise<Recorded> {
  const blind = new Operation(api, { config: { "edgeguard:liveChecks": "false" } });
  return await blind.up(TYPE, await withConfirmation(api, inputs, previous), previous);
}

/** The inputs with the confirmation that they need now. */
export async function withConfirmation(
  api: LocalApi,
  inputs: JsonObject,
  previous?: Recorded,
  op = new Operation(api),
): Promise<JsonObject> {
  return { ...inputs, confirm: await digestFor(api, inputs, previous, op) };
}

/** A create with inputs that were checked earlier, as an engine does it. */
export async function createChecked(op: Operation, inputs: JsonObject): Promise<Recorded> {
  const verbs = REGISTER[TYPE];
  if (verbs === undefined) throw new Error("the type is not registered");
  const { id, outs } = await verbs.create(op.host, inputs);
  return { id, inputs, outputs: JSON.parse(JSON.stringify(outs)) as JsonObject };
}

/** The writes with their paths and queries, in order. */
export function puts(api: Pick<LocalApi, "requests">): string[] {
  return api.requests.filter(isWrite).map(({ method, path, query }) => {
    const words = Object.entries(query).map(([name, value]) => `${name}=${value}`);
    return `${method} ${path.replace(/^\/zones\/[0-9a-f]+/, "")}${words.length === 0 ? "" : `?${words.join("&")}`}`;
  });
}

/** The steps that the local API carried out for the zone. */
export function effectiveSteps(api: LocalApi, zone: string): string[] {
  return api
    .waf(zone)
    .migration.steps.filter((step) => step.effective)
    .map(({ from, to }) => `${from} > ${to}`);
}

export async function rulesOf(api: LocalApi, zone: string): Promise<Rule[]> {
  const { result } = await rawGet(api, entryPoint(zone));
  return result === null ? [] : (result as { rules: Rule[] }).rules;
}

export function entryPoint(zone: string): string {
  return `/zones/${zone}/rulesets/phases/http_request_firewall_managed/entrypoint`;
}

const ENTRY_POINT = "/rulesets/phases/http_request_firewall_managed/entrypoint";
export const PUT = {
  validation: `PUT ${ENTRY_POINT}?waf_migration=validation&phase_two=1`,
  pending: `PUT ${ENTRY_POINT}?waf_migration=pending&phase_two=1`,
};

export const OWASP = "4814384a9e5d4991b9815dcfc25d2f1f";
export const CLOUDFLARE = "efb7b8c949ac4650a09736fc376e9aee";
export const SCORE_RULE = "6179ae15870a4bb7b2d480d4843b323c";
