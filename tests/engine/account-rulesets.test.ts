import { managedRulesets, startLocalApi, type LocalApi } from "edgeguard-local";
import type { Project } from "../support/engine";
import { rawGet, rawSend } from "../support/operation";
import { TOKEN } from "../support/scenario";
import { surfaces } from "../support/surfaces";

/** Managed rulesets of an account's entry point and of the phase of responses, on an engine. */

const ENTERPRISE = 'cf.zone.plan eq "ENT"';
const REQUESTS = "http_request_firewall_managed";
const RESPONSES = "http_response_firewall_managed";

const program = (change: string): string => `
import * as pulumi from "@pulumi/pulumi";
import * as edgeguard from "pulumi-edgeguard";
const { accountId, zoneId, managed, sensitiveData } = new pulumi.Config().requireObject<Record<string, string>>("ids");
new edgeguard.ManagedRulesetOverride("everywhere", {
  accountId, ruleset: { id: managed }, expression: '(cf.zone.name ne "a.example") and ${ENTERPRISE}',
  exceptions: [{ expression: 'ssl and ${ENTERPRISE}', skip: "this" }], ${change}
});
new edgeguard.ManagedRulesetOverride("leaks", {
  zoneId, accountId, phase: "${RESPONSES}", ruleset: { id: sensitiveData },
});
`;

interface Rule {
  readonly id: string;
  readonly ref: string;
  readonly enabled: boolean;
}

describe.each(surfaces())("on $name, rulesets of an account and for responses", (surface) => {
  let api: LocalApi;
  let project: Project;

  beforeAll(async () => {
    api = await startLocalApi();
    project = surface.project("account-rulesets");
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    const { managed, sensitiveData } = managedRulesets;
    const ids = { accountId: api.accounts.main, zoneId: api.zones.empty, managed, sensitiveData };
    await project.init({ ids: JSON.stringify(ids), "edgeguard:baseUrl": api.url });
    project.write(program(""));
    await project.ok("up", "--yes", "--skip-preview");
  }, 300_000);
  afterAll(async () => {
    project.remove();
    await api.close();
  });

  const rulesIn = async (scope: string, phase: string): Promise<{ id: string; rules: Rule[] }> => {
    const { result } = await rawGet(api, `${scope}/rulesets/phases/${phase}/entrypoint`);
    return result as { id: string; rules: Rule[] };
  };
  const inAccount = (): Promise<{ id: string; rules: Rule[] }> =>
    rulesIn(`/accounts/${api.accounts.main}`, REQUESTS);
  const enabled = async (): Promise<boolean[]> => (await inAccount()).rules.map((rule) => rule.enabled);

  it("are created in their entry points, and the next update changes nothing", async () => {
    expect((await inAccount()).rules).toMatchObject([
      { action: "skip", expression: `ssl and ${ENTERPRISE}` },
      { action: "execute", action_parameters: { id: managedRulesets.managed } },
    ]);
    expect((await rulesIn(`/zones/${api.zones.empty}`, RESPONSES)).rules).toMatchObject([
      { action: "execute", action_parameters: { id: managedRulesets.sensitiveData } },
    ]);
    const { stdout } = await project.ok("up", "--yes", "--skip-preview");
    expect(stdout).toMatch(/\b3 unchanged/);
  });

  it("are restored by up --refresh after someone changed them, and updated in place", async () => {
    const { id, rules } = await inAccount();
    const rule = rules[1];
    const path = `/accounts/${api.accounts.main}/rulesets/${id}/rules/${rule?.id}`;
    await rawSend(api, "PATCH", path, { ...rule, enabled: false });
    expect(await enabled()).toEqual([true, false]);
    await project.ok("up", "--refresh", "--yes", "--skip-preview");
    expect(await enabled()).toEqual([true, true]);
    project.write(program('categories: [{ tag: "wordpress", enabled: false }],'));
    await project.ok("up", "--yes", "--skip-preview");
    expect((await inAccount()).rules).toMatchObject([
      {},
      { id: rule?.id, action_parameters: { overrides: { categories: [{ category: "wordpress" }] } } },
    ]);
  });

  it("aren't deployed in the account if only their zone was forgotten", async () => {
    project.write(program("").replace("zoneId, accountId, phase", "accountId, phase"));
    const { code, stdout, stderr } = await project.run("preview");
    expect({ code: code === 0, text: stdout + stderr }).toEqual({
      code: false,
      text: expect.stringContaining('must end with `and cf.zone.plan eq "ENT"`') as string,
    });
  });

  it("are removed by a destroy", async () => {
    await project.ok("destroy", "--yes", "--skip-preview");
    expect((await inAccount()).rules).toEqual([]);
    expect((await rulesIn(`/zones/${api.zones.empty}`, RESPONSES)).rules).toEqual([]);
  });
});
