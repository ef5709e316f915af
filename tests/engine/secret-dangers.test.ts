import { createHash } from "node:crypto";
import { apiPerFile } from "../support/bench";
import { report, type WrittenReport } from "../../provider/report";
import type { Project } from "../support/engine";
import { rawSend } from "../support/operation";
import { TOKEN } from "../support/scenario";
import { surfaces } from "../support/surfaces";

/** Accepting a danger covers the secret values that were accepted, and no others, although a plan hides them all. */

const MINE = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";
const FAIL_ON = ["irreversible", "unprotect"] as const;

const PROGRAM = `
import * as pulumi from "@pulumi/pulumi";
import { KvEntries, LogpushJob, ManagedRulesetOverride, PageShieldPolicy } from "pulumi-edgeguard";
const { accountId, zoneId, namespaceId } = new pulumi.Config().requireObject<Record<string, string>>("ids");
const { skip, policy, filter, kv, value } = VALUES;
const exceptions = skip === "" ? [] : [{ expression: pulumi.secret(skip), skip: "all" as const }];
new ManagedRulesetOverride("skip", { zoneId, accountId, ruleset: "Cloudflare Managed Ruleset", exceptions });
new PageShieldPolicy("policy", {
  zoneId, description: "policy", action: "allow", expression: pulumi.secret(policy), value: "script-src 'self'",
});
new LogpushJob("filter", {
  zoneId, dataset: "http_requests", destinationConf: "https://siem.shop.example/logs",
  outputOptions: { fieldNames: ["RayID", "ClientRequestHost"] }, filter: pulumi.secret(filter),
});
if (kv !== "") new KvEntries("kv", { accountId, namespaceId, entries: { [kv]: pulumi.secret(value) }, adopt: "takeOver" });
`;

type Values = Readonly<Record<"skip" | "policy" | "filter" | "kv" | "value", string>>;

const filterOf = (host: string): string =>
  JSON.stringify({ where: { key: "ClientRequestHost", operator: "eq", value: host } });
const valuesOf = (host: string): Values => ({
  skip: `http.host eq "${host}"`,
  policy: `http.host eq "${host}"`,
  filter: filterOf(host),
  kv: "theirs",
  value: host,
});
const BEFORE: Values = { ...valuesOf("before.example"), skip: "", kv: "" };
const FIRST = valuesOf("c4nary-first.example");
const SECOND: Values = { ...valuesOf("c4nary-second.example"), skip: "true" };
const NAMES = ["filter", "kv", "policy", "skip"];

describe.each(surfaces())("on $name", (surface) => {
  const api = apiPerFile();
  let project: Project;

  beforeAll(async () => {
    const ids = { accountId: MINE, zoneId: api.zones.empty, namespaceId: api.namespaces.existing };
    const theirs = ["theirs", "theirs-too"].map((key) => ({ key, value: "theirs" }));
    await rawSend(api, "PUT", `/accounts/${MINE}/storage/kv/namespaces/${ids.namespaceId}/bulk`, theirs);
    project = surface.project("secret-dangers");
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    await project.init({ ids: JSON.stringify(ids), "edgeguard:baseUrl": api.url });
    declare(BEFORE);
    await project.ok("up", "--yes", "--skip-preview");
  });
  afterAll(() => project.remove());

  const declare = (values: Values): void => project.write(PROGRAM.replace("VALUES", JSON.stringify(values)));

  async function plan(values: Values): Promise<string> {
    declare(values);
    return (await project.run("preview", "--json", "--show-sames")).stdout;
  }
  const judged = (text: string, accepted: readonly string[] = []): WrittenReport =>
    report(text, "json", { failOn: FAIL_ON, accepted: new Set(accepted) });
  const verdicts = ({ dangers }: WrittenReport, verdict: string): string[] =>
    [...new Set(dangers.filter((one) => one.verdict === verdict).map(({ name }) => name))].sort();

  it("an accepted danger isn't accepted with another secret value, but is with the same one", async () => {
    const first = await plan(FIRST);
    const { dangers, digest = "" } = judged(first);
    expect([...new Set(dangers.map(({ name }) => name))].sort()).toEqual(NAMES);
    expect(dangers.map(({ sentence }) => String(sentence)).join("\n")).not.toContain("accepts any value");
    const accepted = [digest, ...dangers.map((danger) => danger.digest)];

    const again = await plan(FIRST);
    expect(verdicts(judged(again, accepted), "fails")).toEqual([]);
    const second = await plan(SECOND);
    // Which keys are overwritten is the danger, whatever the new values.
    expect(verdicts(judged(second, accepted), "accepted")).toEqual(["kv"]);
    // Each on its own: the others' secrets stay the same.
    const some = judged(await plan({ ...FIRST, skip: "true", kv: "theirs-too" }), accepted);
    expect([verdicts(some, "fails"), verdicts(some, "accepted")]).toEqual([
      ["kv", "skip"],
      ["filter", "policy"],
    ]);

    for (const [text, { skip, policy, filter, value: content }] of [
      [first, FIRST],
      [second, SECOND],
    ] as const) {
      expect(text).not.toContain("c4nary");
      for (const value of [skip, policy, filter, content])
        for (const known of [value, JSON.stringify(value), `[${JSON.stringify(value)}]`])
          expect(text).not.toContain(createHash("sha256").update(known).digest("hex").slice(0, 32));
    }
  });

  it("without a credential, the sentence says that accepting covers any value", async () => {
    project.env = {};
    const { dangers } = judged(await plan(FIRST));
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    expect(dangers.find(({ name }) => name === "skip")?.sentence.toString()).toMatch(
      /; accepting this accepts any value of exceptions$/,
    );
  });
});
