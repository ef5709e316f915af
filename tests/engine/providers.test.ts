import { startLocalApi, type LocalApi } from "edgeguard-local";
import { through, type Throwaway } from "../support/edge-client";
import { engines, Project, summaryOf, type RunResult } from "../support/engine";
import { describeLong } from "../support/long";
import { rawSend } from "../support/operation";

/** Explicit providers: several accounts or tokens in one stack. */

/** The first letters of a token name it in the record of requests. */
const TOKENS = {
  eu: "eu--t0kenZq7xKw2mVp9rTb",
  us: "us--t0kenB4nLs8dYc6hJf",
  // Neither may be used.
  environment: "env-t0kenQm5vXz3kWa7g",
  stack: "cfg-t0kenHs9rDp2nMb6t",
};
const ROTATED = "new-t0kenRf3gTj7wXe5q";

const PROGRAM = `
import * as pulumi from "@pulumi/pulumi";
import { KvEntries, KvNamespace, LogpushJob, LogpushTransformer, ManagedRulesetOverride, PageShieldPolicy, PageShieldSettings, Provider, WafMigration } from "pulumi-edgeguard";
const config = new pulumi.Config();
const [accountId, zoneId, otherZone, baseUrl] = ["accountId", "zoneId", "otherZone", "api"].map((key) => config.require(key));
const policy = { zoneId, description: "checkout", action: "log", expression: 'http.host eq "a.example"', value: "script-src 'self'" };
const eu = new Provider("eu", { apiToken: process.env.EU, accountId, baseUrl, maxRetries: 0 });
const us = new Provider("us", { apiToken: pulumi.output(Promise.resolve(process.env.US)), baseUrl });
`;

describe.each(engines().map((engine) => [engine.name, engine] as const))("on %s", (_name, engine) => {
  let api: LocalApi;
  let recorder: Throwaway;
  let project: Project;
  /** Each request after the first letters of its token. */
  const sent: string[] = [];

  beforeEach(async () => {
    const tokens = [...Object.values(TOKENS), ROTATED, "local-token"];
    api = await startLocalApi({ credentials: tokens.map((token) => ({ token })) });
    sent.length = 0;
    recorder = await through(
      api,
      () => undefined,
      (text) => text,
      ({ method = "", url = "", headers }) => {
        const token = (headers.authorization ?? "").replace(/^Bearer (\w+).*/, "$1");
        const path = url
          .replace(/^\/v4|\?.*/g, "")
          .replace(api.zones.empty, "{zone}")
          .replace(api.zones.blog, "{other}")
          .replace(api.accounts.main, "{account}");
        sent.push(`${token} ${method} ${path.replace(/\/[0-9a-f]{32}/, "/{id}")}`);
      },
    );
    project = new Project(engine, "accounts");
    await project.init({
      api: recorder.url,
      accountId: api.accounts.main,
      zoneId: api.zones.empty,
      otherZone: api.zones.blog,
      migrating: api.zones.migratePro,
      "edgeguard:baseUrl": recorder.url,
      "edgeguard:accountId": api.accounts.main,
      "edgeguard:apiToken": TOKENS.stack,
    });
    project.env = { EU: TOKENS.eu, US: TOKENS.us, CLOUDFLARE_API_TOKEN: TOKENS.environment };
  });

  afterEach(async () => {
    await api.close();
    project.remove();
  });

  /** Runs, and makes sure that no token was printed or recorded in plain text. */
  async function run(...args: readonly string[]): Promise<RunResult> {
    sent.length = 0;
    const result = await project.run(...args);
    for (const token of [...Object.values(TOKENS), ROTATED]) {
      expect(result.text).not.toContain(token);
      expect(project.stateText()).not.toContain(token);
    }
    return result;
  }

  async function ok(...args: readonly string[]): Promise<string> {
    const { code, text } = await run(...args);
    if (code !== 0) throw new Error(text);
    return text;
  }

  /** The keys of the namespace that isn't there from the start. */
  async function keys(): Promise<unknown> {
    const all = `/accounts/${api.accounts.main}/storage/kv/namespaces`;
    const { result } = await rawSend(api, "GET", all);
    const found = (result as { id: string; title: string }[]).find(({ title }) => title === "flags");
    const listed = await rawSend(api, "GET", `${all}/${found?.id ?? ""}/keys`);
    return (listed.result as { name: string }[]).map(({ name }) => name);
  }

  /** Which token each object was written and read with. */
  const used = (): string[] => [...new Set(sent)].sort();

  it("reads and writes each object with its own provider's token, and encrypts the tokens in state", async () => {
    project.write(`${PROGRAM}
      const { id: namespaceId } = new KvNamespace("flags", { title: "flags" }, { provider: eu });
      new KvEntries("before", { namespaceId, entries: { a: "1", b: "2" } }, { provider: eu });
      new PageShieldPolicy("us", { ...policy, zoneId: otherZone }, { provider: us });
      new PageShieldPolicy("before", policy, { provider: eu });
      new PageShieldSettings("settings", { zoneId, enabled: true });`);
    expect(summaryOf(await ok("up", "--yes", "--skip-preview"))).toEqual({ create: 8 });
    expect(used()).toEqual([
      "cfg GET /zones/{zone}/page_shield",
      "cfg PUT /zones/{zone}/page_shield",
      "eu GET /accounts/{account}/storage/kv/namespaces",
      "eu GET /zones/{zone}",
      "eu GET /zones/{zone}/page_shield/policies",
      "eu POST /accounts/{account}/storage/kv/namespaces",
      "eu POST /zones/{zone}/page_shield/policies",
      "eu PUT /accounts/{account}/storage/kv/namespaces/{id}/bulk",
      "us GET /zones/{other}",
      "us GET /zones/{other}/page_shield/policies",
      "us POST /zones/{other}/page_shield/policies",
    ]);

    // The hardest case: one provider creates the policy under its new name, and another one deletes the old name.
    project.write(`${PROGRAM}
      const { id: namespaceId } = new KvNamespace("flags", { title: "flags" }, { provider: eu });
      new KvEntries("after", { namespaceId, entries: { a: "1", b: "2" } });
      new PageShieldPolicy("us", { ...policy, zoneId: otherZone }, { provider: us });
      new PageShieldPolicy("after", policy);
      new PageShieldSettings("settings", { zoneId, enabled: true }, { provider: eu });`);
    project.env["US"] = ROTATED;
    const text = await ok("up", "--yes", "--skip-preview");
    expect(summaryOf(text)).toEqual({ update: 1, create: 2, delete: 2, unchanged: 5 });
    expect(text).toMatch(
      /PageShieldPolicy [0-9a-f]{32} is kept: another resource in this program adopted it/,
    );
    expect(used().filter((request) => !/^cfg (GET|POST .*bulk.get$)/.test(request))).toEqual([]);
    const { result } = await rawSend(api, "GET", `/zones/${api.zones.empty}/page_shield/policies`);
    expect(result).toHaveLength(1);
    expect(await keys()).toEqual(["a", "b"]);

    for (const { type, inputs, outputs } of (await project.export()).deployment.resources ?? []) {
      const found =
        JSON.stringify([inputs, outputs]).match(/"edgeguard:apiToken":\{"[^}]*"ciphertext"/g) ?? [];
      expect([type, found.length]).toEqual([type, type.startsWith("pulumi:providers:") ? 2 : 0]);
    }
  }, 120_000);

  describeLong("with explicit providers", () => {
    it("refreshes and destroys each object with the token in its own provider's state", async () => {
      project.write(`${PROGRAM}
        new KvNamespace("eu", { title: "flags" }, { provider: eu });
        new PageShieldSettings("us", { zoneId: otherZone, enabled: true }, { provider: us });`);
      await ok("up", "--yes", "--skip-preview");
      project.env = { CLOUDFLARE_API_TOKEN: TOKENS.environment };
      for (const command of ["refresh", "destroy"]) {
        await ok(command, "--yes", "--skip-preview");
        expect(used().filter((request) => request.startsWith("eu "))).not.toEqual([]);
        expect(used().filter((request) => /{other}/.test(request) !== request.startsWith("us "))).toEqual([]);
      }
    }, 120_000);

    it("an error names the provider whose token was refused, and no other token is tried", async () => {
      project.write(`${PROGRAM}
        new PageShieldSettings("eu", { zoneId, enabled: true }, { provider: eu });`);
      project.env["EU"] = "old-revoked-token";
      for (const command of [["preview"], ["up", "--yes", "--skip-preview"]]) {
        const { code, text } = await run(...command);
        expect(code).not.toBe(0);
        expect(text).toMatch(/from apiToken of Provider "eu" (was refused|lacks )/);
        expect(text).not.toContain("old-revoked-token");
        expect(used()).toEqual(["old GET /zones/{zone}/page_shield"]);
      }
    }, 120_000);

    it("a preview with an empty token skips live checks and sends nothing", async () => {
      project.write(`${PROGRAM}
        new PageShieldSettings("eu", { zoneId, enabled: true }, { provider: eu });`);
      project.env["EU"] = "";
      const { code, text } = await run("preview");
      expect({ code, text }).toMatchObject({ code: 0 });
      expect(text).toMatch(/live checks skipped: apiToken of Provider "eu" is empty/);
      expect((await run("up", "--yes", "--skip-preview")).text).toMatch(/apiToken of Provider "eu" is empty/);
      expect(sent).toEqual([]);
    }, 120_000);

    it("each provider has its own rate limit, even if two providers share a token", async () => {
      project.write(`${PROGRAM}
        const slow = (name: string) => ({
          provider: new Provider(name, { apiToken: process.env.EU, baseUrl, requestsPerSecond: 1 }),
        });
        new PageShieldPolicy("one", policy, slow("one"));
        new PageShieldPolicy("two", { ...policy, zoneId: otherZone }, slow("two"));`);
      api.clearRequests();
      await ok("up", "--yes", "--skip-preview");
      const timesOf = (zone: string): number[] =>
        api.requests.filter(({ path }) => path.includes(zone)).map(({ startedAt }) => startedAt);
      const [one, two] = [timesOf(api.zones.empty), timesOf(api.zones.blog)];
      const seconds = (times: readonly number[]): number => (Math.max(...times) - Math.min(...times)) / 1000;
      // A request may arrive a little later than it was sent, so the first gap may look shorter.
      for (const times of [one, two]) expect(seconds(times)).toBeGreaterThan(times.length - 1.5);
      expect(seconds([...one, ...two])).toBeLessThan(one.length + two.length - 1.5); // As with a shared budget.
    }, 120_000);

    it("refuses invalid provider arguments from outputs, in one sentence without their secrets", async () => {
      project.write(`${PROGRAM}
        const account = pulumi.secret(process.env.EU);
        new Provider("late", { apiToken: account, accountId: account });`);
      const { code, text } = await run("preview");
      expect(code).not.toBe(0);
      expect(text).toMatch(
        /error: .*Invalid arguments of Provider "late": accountId is "\[secret\]" but must be/,
      );
      expect(text.match(/^ +error: .*/gm)).toHaveLength(1);
    }, 120_000);

    it("doesn't delete a key that another provider's KvEntries may manage, and says so", async () => {
      const namespace = `${PROGRAM}
        const { id: namespaceId } = new KvNamespace("flags", { title: "flags" }, { provider: eu });`;
      project.write(`${namespace}
        new KvEntries("own", { namespaceId, entries: { a: "1", b: "2", c: "3" } }, { provider: eu });`);
      await ok("up", "--yes", "--skip-preview");
      project.write(`${namespace}
        new KvEntries("own", { namespaceId, entries: { a: "1" } }, { provider: eu });
        new KvEntries("moved", { namespaceId, entries: { b: "2" } });`);
      await ok("up", "--yes", "--skip-preview");
      expect(await keys()).toEqual(expect.arrayContaining(["a", "b"]));
      project.write(`${namespace}
        new KvEntries("moved", { namespaceId, entries: { b: "2" } });`);
      const text = await ok("up", "--yes", "--skip-preview");
      expect(text).toMatch(
        /several KvEntries with different providers write to this namespace, so keys that/,
      );
      expect(await keys()).toEqual(expect.arrayContaining(["a", "b"]));
      await ok("preview", "--expect-no-changes");
    }, 120_000);

    it("two providers write the rules of a zone one after the other", async () => {
      project.write(`${PROGRAM}
        const rule = (ruleset: string) => ({ zoneId, accountId, ruleset });
        new ManagedRulesetOverride("eu", rule("Cloudflare Managed Ruleset"), { provider: eu });
        new ManagedRulesetOverride("default", rule("Cloudflare OWASP Core Ruleset"));`);
      await ok("up", "--yes", "--skip-preview");
      const phase = "rulesets/phases/http_request_firewall_managed/entrypoint";
      const { result } = await rawSend(api, "GET", `/zones/${api.zones.empty}/${phase}`);
      expect((result as { rules: unknown[] }).rules).toHaveLength(2);
      expect(summaryOf(await ok("destroy", "--yes", "--skip-preview"))).toEqual({ delete: 5 });
    }, 120_000);

    it("moves resources of every type to a provider and back without writing anything", async () => {
      project.write(`${PROGRAM}
        const opts = process.env.MOVED === "1" ? { provider: eu } : {};
        new PageShieldSettings("settings", { zoneId, enabled: true }, opts);
        new PageShieldPolicy("policy", policy, opts);
        new ManagedRulesetOverride("rule", { zoneId, ruleset: "Cloudflare Managed Ruleset" }, opts);
        new WafMigration("migration", { zoneId: config.require("migrating"), target: "assessed" }, opts);
        const transformer = new LogpushTransformer("transformer", { code: "SELECT RayID FROM http_requests" }, opts);
        const transformerId = transformer.id;
        const destinationConf = "https://logs.example/edge";
        new LogpushJob("job", { zoneId, dataset: "http_requests", destinationConf, transformerId }, opts);
        const namespace = new KvNamespace("namespace", { title: "flags" }, opts);
        new KvEntries("entries", { namespaceId: namespace.id, entries: { a: "1" } }, opts);`);
      expect(summaryOf(await ok("up", "--yes", "--skip-preview"))).toEqual({ create: 11 });
      for (const moved of ["1", "0"]) {
        project.env["MOVED"] = moved;
        expect(summaryOf(await ok("up", "--yes", "--skip-preview"))).toEqual({ unchanged: 11 });
        expect(used().filter((request) => !request.includes(" GET "))).toEqual([]);
        await ok("refresh", "--yes", "--skip-preview");
        const tokens = new Set(sent.map((request) => request.split(" ")[0]));
        expect([...tokens]).toEqual([moved === "1" ? "eu" : "cfg"]);
        await ok("preview", "--expect-no-changes");
      }
    }, 240_000);
  });
});
