import type { EffectiveWaf, LocalApi } from "edgeguard-local";
import { z } from "zod";
import { type ApiResponse, type Call, callerOf, controlOf, result } from "./client";

export const PHASE = "http_request_firewall_managed";

const rule = z.looseObject({
  id: z.string(),
  version: z.string(),
  ref: z.string(),
  action: z.string(),
  enabled: z.boolean(),
  description: z.string(),
  last_updated: z.string(),
  categories: z.array(z.string()).default([]),
});

export type Rule = z.infer<typeof rule>;

export function rulesOf(response: ApiResponse): Rule[] {
  return z.array(rule).parse(result(response)["rules"]);
}

export function idsOf(response: ApiResponse): string[] {
  return rulesOf(response).map(({ id }) => id);
}

/** A zone's rulesets over HTTP. */
export class ZoneRulesets {
  readonly call: Call;
  readonly root: string;
  readonly entryPoint: string;

  readonly #api: LocalApi;
  readonly #zoneId: string;

  constructor(api: LocalApi, zoneId: string) {
    this.#api = api;
    this.#zoneId = zoneId;
    this.call = callerOf(api);
    this.root = `/zones/${zoneId}/rulesets`;
    this.entryPoint = `${this.root}/phases/${PHASE}/entrypoint`;
  }

  read(): Promise<ApiResponse> {
    return this.call("GET", this.entryPoint);
  }

  /** Replaces the entry point. */
  put(body: unknown): Promise<ApiResponse> {
    return this.call("PUT", this.entryPoint, body);
  }

  /** Creates an empty entry point. */
  create(): Promise<ApiResponse> {
    return this.call("POST", this.root, { name: "default", kind: "zone", phase: PHASE, rules: [] });
  }

  async add(rule: object): Promise<ApiResponse> {
    return this.call("POST", `${await this.#id()}/rules`, rule);
  }

  async change(id: string, rule: object): Promise<ApiResponse> {
    return this.call("PATCH", `${await this.#id()}/rules/${id}`, rule);
  }

  async remove(id: string): Promise<ApiResponse> {
    return this.call("DELETE", `${await this.#id()}/rules/${id}`);
  }

  async effective(): Promise<EffectiveWaf> {
    const { body } = await controlOf(this.#api)("GET", `/zones/${this.#zoneId}/effective-waf`);
    return body as EffectiveWaf; // Calls one of the local API's control routes.
  }

  async #id(): Promise<string> {
    return `${this.root}/${z.string().parse(result(await this.read())["id"])}`;
  }
}
