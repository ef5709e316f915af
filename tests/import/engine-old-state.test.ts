import { cpSync } from "node:fs";
import { join } from "node:path";
import { edgeguardResources, engines, Project, summaryOf } from "../support/engine";
import { isWrite } from "../support/is-write";
import { CREDENTIAL, OldDesk } from "./old-desk";

/** End to end: from a Terraform state to a stack whose preview is empty. */

describe("an import from a Terraform state", () => {
  let old: OldDesk;
  let before: string;

  beforeAll(async () => {
    old = await OldDesk.start();
    before = JSON.stringify(old.desk.api.snapshot());
    expect(await old.import(old.state)).toMatchObject({ code: 0 });
  });

  it.each(engines())(
    "leads to an empty preview on $name; neither sends a write, and the zone stays byte for byte the same",
    async (engine) => {
      const { desk } = old;
      const project = new Project(engine, "taken");
      try {
        for (const file of ["index.ts", "import.json", "kv"])
          cpSync(join(desk.folder, file), join(project.dir, file), { recursive: true });
        project.program(project.dir);
        project.env = { CLOUDFLARE_API_TOKEN: "local-token" };
        const secrets = { auditAuthorization: CREDENTIAL, errorsAuthorization: CREDENTIAL };
        await project.init({ "edgeguard:baseUrl": desk.api.url, ...secrets });
        const args = ["--yes", "--skip-preview", "--protect=false", "--generate-code=false"];
        const imported = await project.ok("import", "--file", "import.json", ...args);
        expect(summaryOf(imported.text)).toMatchObject({ import: 6 });
        const preview = await project.ok("preview", "--expect-no-changes");
        expect(summaryOf(preview.text)).toEqual({ unchanged: 7 });
        // The state has masks for the credentials. A refresh replaces those that Cloudflare shows.
        const hidden = /this preview can't tell whether the destination's credentials changed/;
        expect(preview.text).toMatch(hidden);
        expect(preview.text.match(/edgeguard: .*/g)?.filter((line) => !hidden.test(line))).toEqual([]);
        expect(desk.api.requests.filter(isWrite)).toEqual([]);
        expect(JSON.stringify(desk.api.snapshot())).toBe(before);

        await project.ok("refresh", "--yes", "--skip-preview");
        const next = await project.ok("preview", "--expect-no-changes");
        expect(next.text).not.toContain("edgeguard:");
        const state = JSON.stringify([...edgeguardResources(await project.export()).values()]);
        expect(state).not.toContain(CREDENTIAL);
      } finally {
        project.remove();
      }
    },
    120_000,
  );
});
