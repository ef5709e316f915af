import { startLocalApi } from "edgeguard-local";
import { report } from "../../provider/report/index";
import { buildDrift } from "../../provider/report/drift/build";
import { readPlan } from "../../provider/report/plan";
import { TOKEN } from "../support/scenario";
import { surfaces } from "../support/surfaces";

/** A program that writes the same in another notation, which changes nothing. */

const program = (expression: string, conditions: string, jobs: readonly string[]): string => `
import * as pulumi from "@pulumi/pulumi";
import * as edgeguard from "pulumi-edgeguard";
const { accountId, shop, empty } = new pulumi.Config().requireObject<Record<string, string>>("ids");
const expression = ${JSON.stringify(expression)};
new edgeguard.PageShieldPolicy("pay", { zoneId: shop, description: "pay", action: "log", expression, value: "script-src 'self'" });
new edgeguard.ManagedRulesetOverride("main", {
  zoneId: empty,
  accountId,
  ruleset: "Cloudflare Managed Ruleset",
  expression,
  exceptions: [{ expression, skip: "this" }],
});
for (const name of ${JSON.stringify(jobs)})
  new edgeguard.LogpushJob(name, {
    zoneId: empty,
    dataset: "http_requests",
    destinationConf: "https://logs.example.com/in",
    outputOptions: { fieldNames: ["RayID", "ClientIP", "EdgeResponseStatus"] },
    filter: JSON.stringify({ where: { and: [${conditions}] } }),
  });
`;
const [STATUS, ADDRESS] = [
  '{ key: "EdgeResponseStatus", operator: "geq", value: "500" }',
  '{ key: "ClientIP", operator: "eq", value: "192.0.2.1" }',
];

test.each(surfaces())(
  "is no update, no drift and no manual change that the report tells, on $name",
  async (surface) => {
    const api = await startLocalApi();
    const { shop, empty } = api.zones;
    const project = surface.project("notation");
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    const ids = JSON.stringify({ accountId: api.accounts.main, shop, empty });
    await project.init({ ids, "edgeguard:baseUrl": api.url });
    const jobs = ["errors", "twin"];
    project.write(program('http.host == "a"', `${STATUS}, ${ADDRESS}`, jobs));
    await project.ok("up", "--yes", "--skip-preview");
    project.write(program('http.host eq "a"', `${ADDRESS}, ${STATUS}`, jobs));
    expect((await project.ok("up", "--yes", "--skip-preview")).stdout).toContain("5 unchanged");
    const { stdout } = await project.ok("preview", "--refresh", "--json", "--show-sames");
    expect(buildDrift(readPlan(stdout))).toMatchObject({ drifted: false, resources: [] });
    expect(report(stdout, "text").text).not.toMatch(/manual changes|outside the program/);
    // The other job makes up for the deleted one, because nobody changed its filter.
    project.write(program('http.host eq "a"', `${ADDRESS}, ${STATUS}`, ["errors"]));
    const removal = await project.ok("preview", "--refresh", "--json", "--show-sames");
    expect(report(removal.stdout, "json").dangers.map(({ kind }) => kind)).toEqual(["delete"]);
    project.remove();
    await api.close();
  },
);
