import type { LocalApi, WafSettingsChange } from "edgeguard-local";
import { z } from "zod";
import { type ApiResponse, type Call, callerOf, result } from "./client";

/** The packages of the previous rules, which are the same in every zone. */
export const OWASP = "c504870194831cd12c3fc0284f294abb";
export const VENDOR = "a25a9a7e9c00afc1fb2e0245519d725b";

/** The rulesets that replace them, and the OWASP rule that has the threshold. */
export const NEW_OWASP = "4814384a9e5d4991b9815dcfc25d2f1f";
export const NEW_VENDOR = "efb7b8c949ac4650a09736fc376e9aee";
export const SCORE_RULE = "6179ae15870a4bb7b2d480d4843b323c";

const rule = z.looseObject({ action: z.string(), expression: z.string(), enabled: z.boolean() });

export type SentRule = z.infer<typeof rule>;

/** A zone that's migrating, over plain HTTP. */
export class Migrating {
  readonly call: Call;
  readonly root: string;
  readonly entryPoint: string;

  constructor(api: LocalApi, zone: keyof LocalApi["zones"]) {
    this.call = callerOf(api);
    this.root = `/zones/${api.zones[zone]}`;
    this.entryPoint = `${this.root}/rulesets/phases/http_request_firewall_managed/entrypoint`;
  }

  check(query = "?phase_two=1"): Promise<ApiResponse> {
    return this.call("GET", `${this.root}/waf_migration/check${query}`);
  }

  config(query = "?phase_two=1"): Promise<ApiResponse> {
    return this.call("GET", `${this.root}/waf_migration/config${query}`);
  }

  async proposed(): Promise<SentRule[]> {
    return z.array(rule).parse(result(await this.config())["rules"]);
  }

  status(): Promise<ApiResponse> {
    return this.call("GET", `${this.root}/waf_migration/status`);
  }

  /** Without a mode, a plain update. */
  put(mode?: string, rules: readonly object[] = [], query = "&phase_two=1"): Promise<ApiResponse> {
    const asked = mode === undefined ? "" : `?waf_migration=${mode}${query}`;
    return this.call("PUT", this.entryPoint + asked, { name: "default", rules });
  }

  legacy(method: string, path: string, body?: unknown): Promise<ApiResponse> {
    return this.call(method, `${this.root}/firewall/waf${path}`, body);
  }

  async saved(): Promise<SentRule[]> {
    const response = await this.call("GET", this.entryPoint);
    return response.status === 404 ? [] : z.array(rule).parse(result(response)["rules"]);
  }
}

/** The settings of a migration unless a test changes them. */
export const USUAL_WAF: WafSettingsChange = {
  pendingMs: 0,
  stateNames: { start: "start", validation: "validation", pending: "pending", finished: "finished" },
  statusMembers: { state: "migration_state", previous: "old_waf", next: "new_waf" },
  statusValues: "words",
  pendingShows: "previous",
};
