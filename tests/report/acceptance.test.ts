import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { report } from "../../provider/report";
import type { JsonObject } from "../../provider/basics/json";
import { apiPerFile, folderPerFile } from "../support/bench";
import { Operation, UNKNOWN } from "../support/operation";
import {
  found,
  list,
  many,
  stepOf,
  refreshedJson,
  read,
  recorded,
  shuffled,
  type MadeStep,
  changed,
  created,
  deleted,
  wouldBlock,
} from "./plans";

/** What a digest covers, and what accepting one lets through. */

const policy = (name: string, description = name): MadeStep =>
  stepOf("update", "PageShieldPolicy", name, {
    old: { zoneId: "z", description, action: "allow" },
    new: { zoneId: "z", description, action: "log" },
  });
const digestOf = (...steps: MadeStep[]): string | undefined => report(refreshedJson(...steps), "json").digest;
const sentencesOf = (...steps: MadeStep[]): string[] =>
  report(refreshedJson(...steps), "json").dangers.map(({ sentence }) => sentence.toString());
const under = (urn: string, { oldState }: MadeStep): MadeStep => ({
  op: "delete",
  urn,
  oldState: oldState ?? {},
});

describe("the digest of a plan's dangers", () => {
  test("is the same on every run, whatever the engine's order", () => {
    const { digest } = report(read("changed.json"), "json");
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    for (const seed of [1, 2]) {
      const other = { ...recorded("changed"), steps: shuffled(recorded("changed").steps, seed) };
      expect(report(JSON.stringify(other), "json").digest).toBe(digest);
    }
  });

  test("ignores harmless changes", () => {
    const harmless = created("KvNamespace", "new", { title: "new" });
    expect(digestOf(policy("a"), harmless)).toBe(digestOf(policy("a")));
  });

  test("ignores visitors' scripts that the policy allows, and Cloudflare's new versions", () => {
    const next = (seen: number, count: number): string | undefined =>
      digestOf(
        changed(
          "PageShieldPolicy",
          "a",
          { zoneId: "z", action: "allow", value: "script-src 'self'" },
          {
            value: "script-src *",
            ...found({ wouldBlock: { ...wouldBlock(count, ["https://x.example/"]), seen } }),
          },
        ),
      );
    expect(next(901, 1)).toBe(next(900, 1));
    expect(next(900, 2)).not.toBe(next(900, 1));
    const versions = (...lines: string[]): string | undefined =>
      digestOf(
        changed(
          "ManagedRulesetOverride",
          "a",
          { zoneId: "z", ref: "a" },
          { action: "log", ...found({ versions: lines }) },
        ),
      );
    expect(versions("version 38 adds 2 rules")).toBe(versions());
  });

  test("of a deletion covers what the plan changes beside it, and nothing in other zones", () => {
    const gone = deleted("PageShieldPolicy", "a", { zoneId: "z", action: "allow", expression: "true" });
    const other = (zoneId: string, value: string): string | undefined =>
      digestOf(gone, created("PageShieldPolicy", "b", { zoneId, action: "log", value }));
    expect(other("z", "script-src 'none'")).not.toBe(other("z", "script-src *"));
    expect(other("y", "script-src 'none'")).toBe(other("y", "script-src *"));
  });

  test("of removed keys covers which keys another resource gets in the plan, and no values", () => {
    const place = { accountId: "a", namespaceId: "n", entries: "[secret]" };
    const digest = (names: readonly string[], secrets = "1"): string | undefined =>
      digestOf(
        stepOf("update", "KvEntries", "from", {
          old: { ...place, keys: 30 },
          new: {
            ...place,
            ...found({ removed: list(...many(15)), secrets, keys: list(...many(15, "left/")) }),
          },
        }),
        created("KvEntries", "to", { ...place, ...found({ keys: list(...names), added: list(...names) }) }),
      );
    expect(digest(many(15))).not.toBe(digest(many(15, "other/")));
    expect(digest(many(15), "2")).toBe(digest(many(15)));
  });

  const GONE = policy("a");
  test.each<[string, MadeStep[]]>([
    ["another resource", [policy("b", "a")]],
    ["a different effect", [policy("a", "b")]],
    ["one more danger", [policy("a"), policy("b")]],
    ["another kind of danger", [deleted("PageShieldPolicy", "a", { zoneId: "z", action: "log" })]],
    ["another stack", [{ ...GONE, urn: GONE.urn.replace(":dev:", ":production:") }]],
  ])("changes with %s", (_, steps) => {
    expect(digestOf(...steps)).toMatch(/^[0-9a-f]{64}$/);
    expect(digestOf(...steps)).not.toBe(digestOf(policy("a")));
  });

  test("changes if an adopted or restored expression changes, even at the end of a long one", () => {
    const long = (path: string): string => `http.request.uri.path in {"${"/long".repeat(80)}" "${path}"}`;
    const rule = { zoneId: "z", ruleset: { name: "OWASP" }, expression: "false" };
    const takenOver = (path: string): MadeStep => {
      const adopted = { object: "rule 1", changes: { expression: { before: long(path), after: "false" } } };
      return created("ManagedRulesetOverride", "owasp", { ...rule, adopted });
    };
    expect(digestOf(takenOver("/a"))).toMatch(/^[0-9a-f]{64}$/);
    expect(digestOf(takenOver("/a"))).not.toBe(digestOf(takenOver("/b")));
    const putBack = (path: string): MadeStep => {
      const previous = {
        rule: { action: "execute", expression: long(path), action_parameters: { id: "o" } },
      };
      const old = { ...rule, ruleset: { id: "o" }, expression: "true" };
      return deleted("ManagedRulesetOverride", "owasp", old, { rulesetId: "o", previous });
    };
    expect(digestOf(putBack("/a"))).not.toBe(digestOf(putBack("/b")));
  });

  test("is missing without dangers, or if the preview failed", () => {
    expect(report(read("unchanged.json"), "json").digest).toBeUndefined();
    const failed = {
      ...recorded("changed"),
      diagnostics: [{ message: "error: no such zone", severity: "error" }],
    };
    const { digest, text } = report(JSON.stringify(failed), "markdown");
    expect({ digest, text }).toEqual({
      digest: undefined,
      text: expect.not.stringContaining("Digest of") as string,
    });
  });
});

describe("accepting digests", () => {
  const DELETES = { failOn: ["unprotect", "delete"] as const };
  const verdicts = (plan: string, ...accepted: string[]): string[] =>
    report(plan, "json", { ...DELETES, accepted: new Set(accepted) }).dangers.map(
      ({ kind, name, verdict }) => `${kind} ${name} ${verdict}`,
    );

  test("lets all dangers through if the digest covers all of them", () => {
    const plan = refreshedJson(policy("a"), policy("b"));
    expect(verdicts(plan)).toEqual(["unprotect a fails", "unprotect b fails"]);
    expect(verdicts(plan, report(plan, "json").digest ?? "")).toEqual([
      "unprotect a accepted",
      "unprotect b accepted",
    ]);
  });

  test("lets only one danger through if the digest covers that one, and the report marks it", () => {
    const plan = refreshedJson(policy("a"), policy("b"));
    const accepted = report(plan, "json").dangers[0]?.digest ?? "";
    expect(verdicts(plan, accepted)).toEqual(["unprotect a accepted", "unprotect b fails"]);
    const { text } = report(plan, "text", { ...DELETES, accepted: new Set([accepted]) });
    expect(text).toMatch(
      /Review these first:\n {2}- unprotect: PageShieldPolicy b: .*\n {2}- unprotect \(accepted\): PageShieldPolicy a: /,
    );
  });

  test("doesn't let through a second danger with the same text", () => {
    const one = deleted("PageShieldSettings", "twin", { zoneId: "z", enabled: false });
    const twin = under(one.urn.replace("::pulumi", "::team:Site$pulumi"), one);
    const accepted = report(refreshedJson(one), "json").dangers[0]?.digest ?? "";
    expect(verdicts(refreshedJson(one), accepted)).toEqual(["delete twin accepted"]);
    expect(verdicts(refreshedJson(one, twin), accepted)).toEqual(["delete twin fails", "delete twin fails"]);
  });
});

describe("an accepted danger of a step with a value that isn't known yet", () => {
  const api = apiPerFile();
  const folder = folderPerFile("acceptance");
  const fileOf = (count: number): string => {
    const file = join(folder, `${count}.json`);
    writeFileSync(file, JSON.stringify(Object.keys(keys(count)).map((key) => ({ key, value: "v" }))));
    return file;
  };
  const EXPRESSION = 'http.host eq "shop.example"';
  const keys = (count: number): JsonObject => ({
    ...Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"])),
    new: UNKNOWN,
  });
  const job = (more: JsonObject): JsonObject => ({
    zoneId: api.zones.empty,
    name: "one",
    dataset: "http_requests",
    destinationConf: "https://logs.shop.example/in?header_Authorization=one",
    outputOptions: { fieldNames: ["RayID"] },
    ...more,
  });
  const pushingTo = (destinationConf: string) => (): [JsonObject, JsonObject, JsonObject] => [
    job({}),
    job({ name: UNKNOWN }),
    job({ name: UNKNOWN, destinationConf }),
  ];
  const entries = (more: JsonObject): JsonObject => ({
    accountId: api.accounts.main,
    namespaceId: api.namespaces.existing,
    ...more,
  });
  const transformer = (code: string, description: string): JsonObject => ({
    accountId: api.accounts.main,
    name: "t",
    code,
    description,
  });
  const deployed = (more: JsonObject): JsonObject => ({
    zoneId: api.zones.empty,
    accountId: api.accounts.main,
    ref: "owasp",
    ruleset: "Cloudflare OWASP Core Ruleset",
    ...more,
  });

  test.each<[string, string, () => readonly [before: JsonObject, accepted: JsonObject, other: JsonObject]]>([
    ["another destination", "LogpushJob", pushingTo("https://evil.example/in?header_Authorization=one")],
    ["another credential", "LogpushJob", pushingTo("https://logs.shop.example/in?header_Authorization=two")],
    [
      "fewer keys",
      "KvEntries",
      () => [
        entries({ entries: { ...keys(12), new: "v" } }),
        entries({ entries: keys(12) }),
        entries({ entries: keys(1) }),
      ],
    ],
    [
      "the end of a file",
      "KvEntries",
      () => [
        entries({ file: fileOf(40) }),
        entries({ file: fileOf(5), maxOwnDeletes: UNKNOWN }),
        entries({ file: fileOf(1), maxOwnDeletes: UNKNOWN }),
      ],
    ],
    [
      "another code",
      "LogpushTransformer",
      () => [
        transformer("SELECT RayID FROM http_requests", "d"),
        transformer("SELECT RayID FROM http_requests", UNKNOWN),
        transformer("SELECT ClientIP FROM http_requests", UNKNOWN),
      ],
    ],
    [
      "another expression",
      "ManagedRulesetOverride",
      () => [
        deployed({}),
        deployed({ categories: UNKNOWN, expression: EXPRESSION }),
        deployed({ categories: UNKNOWN, expression: "ip.src eq 192.0.2.1" }),
      ],
    ],
  ])("isn't accepted with %s: %s", async (_, type, make) => {
    const [before, accepted, other] = make();
    const recorded = await new Operation(api).up(type, before);
    const digest = async (news: JsonObject): Promise<string | undefined> => {
      const { inputs } = await new Operation(api).preview(type, news, recorded);
      return digestOf(
        stepOf("update", type, "one", { old: recorded.inputs, outputs: recorded.outputs, new: inputs }),
      );
    };
    const first = await digest(accepted);
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    expect(await digest(accepted)).toBe(first);
    expect(await digest(other)).not.toBe(first);
  });

  test.each<[string, string]>([
    ["PageShieldPolicy", "value"],
    ["LogpushJob", "filter"],
    ["ManagedRulesetOverride", "exceptions"],
  ])("says that it covers any value of a whole that isn't known: %s %s", (type, name) => {
    const old = { zoneId: "z", enabled: true, action: "allow", expression: "true", ruleset: { id: "r" } };
    const step = stepOf("update", type, "one", {
      old,
      new: { ...old, [name]: UNKNOWN, ...found({ unknown: [name] }) },
    });
    expect(sentencesOf(step)).toContainEqual(
      expect.stringContaining(`; accepting this accepts any value of ${name}`),
    );
  });

  test("says that it covers any content of a file that couldn't be read", async () => {
    const before = entries({ file: fileOf(12) });
    const recorded = await new Operation(api).up("KvEntries", before);
    const { inputs } = await new Operation(api).preview(
      "KvEntries",
      { ...before, defaults: UNKNOWN },
      recorded,
    );
    expect(sentencesOf(stepOf("update", "KvEntries", "one", { old: recorded.inputs, new: inputs }))).toEqual([
      "may delete keys that it wrote: the preview couldn't compare them with the program; accepting this accepts any value of file, defaults",
    ]);
  });

  test("isn't accepted with other code of the new transformer that the job gets", async () => {
    const before = await new Operation(api).up("LogpushJob", job({}));
    const { inputs } = await new Operation(api).preview(
      "LogpushJob",
      job({ transformerId: UNKNOWN }),
      before,
    );
    const digest = async (code: string): Promise<string | undefined> => {
      const args = { ...transformer(code, "d"), name: "new" };
      const checked = await new Operation(api).preview("LogpushTransformer", args);
      const made = created("LogpushTransformer", "t", { ...checked.inputs, code: "[secret]" });
      const step = stepOf("update", "LogpushJob", "one", { old: before.inputs, new: inputs });
      const propertyDependencies = { transformerId: [made.urn] };
      return digestOf(made, { ...step, newState: { ...step.newState, propertyDependencies } });
    };
    const accepted = await digest("SELECT RayID FROM http_requests WHERE EdgeResponseStatus >= 100");
    expect(await digest("SELECT RayID FROM http_requests WHERE EdgeResponseStatus >= 100")).toBe(accepted);
    expect(await digest("SELECT RayID FROM http_requests WHERE EdgeResponseStatus >= 999")).not.toBe(
      accepted,
    );
  });

  test("says that it covers any secret of a resource that the engine couldn't check", () => {
    // The provider's own credential isn't known yet: there's nothing that a check adds.
    const step = stepOf("update", "LogpushJob", "one", {
      old: { ...job({ destinationConf: "[secret]" }), destinationShown: "https://logs.shop.example/in" },
      new: job({ destinationConf: "[secret]" }),
    });
    expect(sentencesOf(step)).toEqual([
      "log lines may no longer go to https://logs.shop.example/in: where they go is known after apply; accepting this accepts any value of destinationConf",
    ]);
  });
});
