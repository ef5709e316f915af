import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { LOCAL_ENGINE, startLocalApi } from "edgeguard-local";
import { engines, Project, REPOSITORY } from "../support/engine";

/** The local engine doesn't run policy packs, so this needs the Pulumi CLI. */

const cli = engines().find(({ name }) => name !== LOCAL_ENGINE.name);
const onCli = cli === undefined ? test.skip : test;
const WHY = cli === undefined ? " (not run: no pulumi on PATH)" : ` (${cli.name})`;

onCli(
  `a preview with the policy pack reports every violation, and passes once they are fixed${WHY}`,
  async () => {
    const api = await startLocalApi();
    const project = new Project(cli ?? LOCAL_ENGINE, "policies");
    try {
      // As a shell sets it.
      project.env = { CLOUDFLARE_API_TOKEN: "local-token", PWD: project.dir };
      project.program(join(__dirname, "program"));
      await project.init({
        zoneId: api.zones.empty,
        "edgeguard:accountId": api.accounts.main,
        "edgeguard:baseUrl": api.url,
      });
      const settings = { production: "^dev$", plan: "free" };
      const names = ["no-force-destroy-in-production", "workers-limits", "workers-near-limits"];
      const config = join(project.dir, "policy.json");
      writeFileSync(config, JSON.stringify(Object.fromEntries(names.map((name) => [name, settings]))));
      const pack = [
        "--policy-pack",
        join(REPOSITORY, "examples/policy-pack"),
        "--policy-pack-config",
        config,
      ];

      const refused = await project.run("preview", ...pack);
      expect(refused.code).not.toBe(0);
      const found = [...refused.text.matchAll(/\[(\w+)\] {2}([\w-]+) {2}\(.*: (\w+)\)/g)].map(
        ([, ...words]) => words.join(" "),
      );
      expect(found.sort()).toEqual([
        "advisory workers-near-limits small",
        "mandatory allow-needs-snapshot strict",
        "mandatory no-force-destroy-in-production catalog",
        "mandatory workers-limits shop",
        "mandatory zones-need-managed-ruleset strict",
      ]);
      expect(refused.text).not.toContain("s3cret");

      project.program(join(__dirname, "program.fixed"));
      const snapshot = { version: 1, zoneId: api.zones.empty, scripts: [] };
      writeFileSync(join(project.dir, "detections.json"), JSON.stringify(snapshot));
      const passed = await project.run("preview", ...pack);
      expect({ code: passed.code, text: passed.text }).toMatchObject({ code: 0 });
      expect(passed.text).toMatch(/\[advisory\] {2}workers-near-limits/);
    } finally {
      await api.close();
      project.remove();
    }
  },
);
