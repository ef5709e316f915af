import { writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { managedRulesets } from "edgeguard-local";
import { BIN } from "../cli/support";
import { apiPerTest } from "../support/bench";
import { describeOnCli, Project } from "../support/engine";
import { rawGet } from "../support/operation";
import { TOKEN } from "../support/scenario";

/** A pipeline that fails if a tightening would have stopped more requests than its reviewer allowed. */

const RULE = "23ee7cebe6e8443e99ecf932ab579455";

describeOnCli("a plan whose reviewer allows so many events", (cli) => {
  const api = apiPerTest();
  let project: Project;

  beforeEach(async () => {
    project = new Project(cli, "traffic");
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN, EDGEGUARD_SAVED_PLAN: "true" };
    await project.init({ "edgeguard:accountId": api.accounts.main, "edgeguard:baseUrl": api.url });
  });
  afterEach(() => project.remove());

  const declare = (action: string): void =>
    project.write(`
import { ManagedRulesetOverride } from "pulumi-edgeguard";
const rules = { "${RULE}": { action: "${action}" } };
new ManagedRulesetOverride("waf", { zoneId: "${api.zones.empty}", ruleset: { id: "${managedRulesets.managed}" }, rules });
`);
  const happened = (times: number): void => {
    api.addFirewallEvents(
      api.zones.empty,
      Array.from({ length: times }, () => ({ ruleId: RULE, action: "log" })),
    );
  };
  const gate = async (most: number): Promise<readonly [code: number | null, report: string]> => {
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    const { stdout } = await project.run("preview", "--json", "--show-sames");
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN, EDGEGUARD_SAVED_PLAN: "true" };
    writeFileSync(join(project.dir, "preview.json"), stdout);
    const args = [BIN, "report", "preview.json", "--fail-on", `traffic=${most},unseen`];
    const {
      status,
      stdout: report,
      stderr,
    } = spawnSync(process.execPath, args, {
      cwd: project.dir,
      encoding: "utf8",
    });
    expect(stderr.includes("a traffic=<n> so high allows them")).toBe(status !== 0);
    expect(stderr).not.toContain("pass --accept");
    return [status, report];
  };

  it("is judged again before it's applied, and applies whatever the count was when it was saved", async () => {
    declare("log");
    await project.ok("up", "--yes", "--skip-preview");
    happened(3);
    declare("block");
    expect(await gate(2)).toEqual([
      1,
      expect.stringContaining("would have stopped up to 3 events of the last 24 h that passed"),
    ]);
    expect((await gate(5))[0]).toBe(0);
    await project.ok("preview", "--save-plan", "plan.json");

    happened(4);
    expect(await gate(5)).toEqual([1, expect.stringContaining("--fail-on traffic=7` allows so many")]);
    expect((await gate(7))[0]).toBe(0);
    await project.ok("up", "--yes", "--plan", "plan.json");
    const path = `/zones/${api.zones.empty}/rulesets/phases/http_request_firewall_managed/entrypoint`;
    const { result } = await rawGet(api, path);
    expect(result).toMatchObject({
      rules: [{ action_parameters: { overrides: { rules: [{ id: RULE, action: "block" }] } } }],
    });
    expect((await gate(0))[0]).toBe(0);
  }, 120_000);
});
