import { revisionOf } from "../../provider/runtime/impact";
import type { JsonObject } from "../../provider/basics/json";
import { managedRulesets, seededRules, type EffectiveWaf, type ZoneName } from "edgeguard-local";
import { accounts, Bench, zones, type Setup } from "../support/bench";
import { publishVersion, rawGet, rawSend, refreshedInputs, type Recorded } from "../support/operation";
import { isWrite } from "../support/is-write";

export const TYPE = "ManagedRulesetOverride";
export const REF = "edgeguard/site/dev/waf";
export const OWASP = "Cloudflare OWASP Core Ruleset";
export const MANAGED = "Cloudflare Managed Ruleset";

export type Rule = Record<string, unknown> & { readonly id: string; readonly ref: string };
export type Declaration = Record<string, unknown> & { readonly zoneId: string };

/** The inputs after a refresh that reported versions. */
export function inputsAfter(
  recorded: Recorded,
  { versions }: { readonly versions: readonly unknown[] },
): JsonObject {
  return {
    ...refreshedInputs(recorded),
    impact: { operation: "refresh", revision: revisionOf(recorded.inputs) + 1, seen: [], versions },
  };
}

/** A local API and one of its zones: what a test declares there, what exists, and what was sent. */
export class RulesetsBench extends Bench {
  zone: string = zones.shop;

  constructor(setup?: Setup) {
    super(TYPE, setup);
    beforeEach(() => this.inZone("shop"));
  }

  /** Lets the rest of the test work in another zone. */
  inZone(name: ZoneName): void {
    this.zone = zones[name];
  }

  /** The OWASP Core Ruleset for all requests, by default. */
  declare(more: Record<string, unknown> = {}): Declaration {
    return {
      zoneId: this.zone,
      accountId: accounts.main,
      ruleset: { id: managedRulesets.owasp },
      ref: REF,
      ...more,
    };
  }

  /** The Cloudflare Managed Ruleset, whose rules have several tags. */
  declareManaged(more: Record<string, unknown> = {}): Declaration {
    return this.declare({
      ruleset: { id: managedRulesets.managed },
      expression: 'http.host eq "a.example"',
      ...more,
    });
  }

  get path(): string {
    return `/zones/${this.zone}/rulesets`;
  }

  /** Undefined if the zone has no entry point. */
  async entryPoint(): Promise<(Rule & { readonly rules: readonly Rule[] }) | undefined> {
    const { result } = await rawGet(this.api, `${this.path}/phases/http_request_firewall_managed/entrypoint`);
    return (result ?? undefined) as (Rule & { readonly rules: readonly Rule[] }) | undefined;
  }

  async rules(): Promise<readonly Rule[]> {
    return (await this.entryPoint())?.rules ?? [];
  }

  /** All rules that aren't ours, as text: IDs, order, content, versions and times. */
  async othersRules(): Promise<string> {
    return JSON.stringify((await this.rules()).filter(({ ref }) => !ref.startsWith("edgeguard/")));
  }

  async ownRule(ref = REF): Promise<Rule> {
    const rule = (await this.rules()).find((each) => each.ref === ref);
    if (rule === undefined) throw new Error(`there is no rule ${ref}`);
    return rule;
  }

  /** Refs in the order in which they run. */
  async refs(): Promise<readonly string[]> {
    return (await this.rules()).map(
      ({ ref }) => NAMES[ref] ?? ref.replace(`${REF}/`, "").replace(REF, "own"),
    );
  }

  /** Changes a rule as the dashboard does: sends the full definition with `change`. */
  async editRule(rule: Rule, change: Record<string, unknown>): Promise<void> {
    const entryPoint = await this.entryPoint();
    const body: Record<string, unknown> = { ...rule, ...change };
    const path = `${this.path}/${entryPoint?.id ?? ""}/rules/${rule.id}`;
    const { success, errors } = await rawSend(this.api, "PATCH", path, body);
    if (!success) throw new Error(JSON.stringify(errors));
  }

  async addRule(body: Record<string, unknown>): Promise<Rule> {
    const entryPoint = await this.entryPoint();
    const { result, success, errors } = await rawSend(
      this.api,
      "POST",
      `${this.path}/${entryPoint?.id ?? ""}/rules`,
      body,
    );
    if (!success) throw new Error(JSON.stringify(errors));
    const known = new Set(entryPoint?.rules.map(({ id }) => id));
    return (result as { rules: Rule[] }).rules.find(({ id }) => !known.has(id)) as Rule;
  }

  async deleteRule(rule: Rule): Promise<void> {
    await rawSend(this.api, "DELETE", `${this.path}/${(await this.entryPoint())?.id ?? ""}/rules/${rule.id}`);
  }

  /** The effect of a deployment, as the local API computes it independently. */
  async effectiveDeployment(ref = REF): Promise<EffectiveWaf["deployments"][number]> {
    const root = this.api.url.replace(/\/client\/v4$/, "");
    const response = await fetch(`${root}/__local/zones/${this.zone}/effective-waf`);
    const { deployments } = (await response.json()) as EffectiveWaf;
    const found = deployments.find((deployment) => deployment.ref === ref);
    if (found === undefined) throw new Error(`${ref} is not deployed`);
    return found;
  }

  /** Rules of a managed ruleset. */
  async managedRules(
    ruleset: string,
  ): Promise<readonly (Rule & { readonly categories: readonly string[] })[]> {
    const { result } = await rawGet(this.api, `/accounts/${accounts.main}/rulesets/${ruleset}`);
    const { rules } = result as { rules: (Rule & { categories?: readonly string[] })[] };
    return rules.map((rule) => ({ ...rule, categories: rule.categories ?? [] }));
  }

  /** Publishes the next version of a ruleset. */
  async publishVersion(ruleset: string, next: object): Promise<void> {
    await publishVersion(this.api, ruleset, next);
  }

  /** Requests that changed something, without IDs. */
  writes(): string[] {
    return this.api.requests
      .filter(isWrite)
      .map(({ method, path }) => `${method} ${path.replace(this.path, "").replace(/[0-9a-f]{32}/g, "{id}")}`);
  }

  /**
   * Preview, refresh and preview again find no changes. The previews send no request, and the refresh writes
   * nothing.
   *
   * @param versions what the refresh reports if the deployment pins a version.
   */
  async expectNoChanges(
    declaration: Declaration,
    recorded: Recorded,
    versions?: readonly unknown[],
  ): Promise<void> {
    this.api.clearRequests();
    expect(await this.step(declaration, recorded)).toBe("same");
    expect(this.api.requests).toEqual([]);
    const refreshed = await this.refresh(recorded);
    const inputs = versions === undefined ? refreshedInputs(recorded) : inputsAfter(recorded, { versions });
    expect(refreshed).toEqual({ ...recorded, inputs });
    expect(await this.step(declaration, refreshed)).toBe("same");
    expect(this.writes()).toEqual([]);
  }
}

const NAMES: Readonly<Record<string, string>> = {
  [seededRules.shop.monitoring]: "monitoring",
  "security-team/managed": "managed",
  [seededRules.shop.credentials]: "credentials",
};
