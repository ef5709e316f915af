import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startLocalApi } from "edgeguard-local";
import { REPOSITORY } from "../../support/engine";
import { plays } from "../../support/plays";
import { TOKEN } from "../../support/scenario";
import { isWrite } from "../../support/is-write";

/** If the guide's block after `<!-- preview: migration-assessed -->` is out of date, this test prints the current one. */

test.each(plays().map((play) => [play.title, play] as const))(
  "the guide shows the real preview of an assessed zone, %s",
  async (_title, { surface, mode }) => {
    const api = await startLocalApi(mode?.api);
    const project = surface.project("scenario");
    try {
      project.program(join(__dirname, "program"));
      project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
      await project.init({ zoneId: api.zones.migrateEnterprise, "edgeguard:baseUrl": api.url });
      const { text } = await project.ok("preview");
      const shown = assessmentIn(text);
      for (const words of [
        "eligible", // Or blocked, and by what.
        /execute Cloudflare OWASP Core Ruleset: paranoia level \d, score threshold \d+/,
        /OWASP sensitivity \w+ -> paranoia level \d, score threshold \d+/,
        "not carried over: ",
        "1 of 1 firewall bypass rule, 1 of 1 WAF-disabling page rule",
        /confirm: "[0-9a-f]{64}"/,
        "no step can be undone",
      ])
        expect(shown).toMatch(words);
      // The digest covers the rules as the API returns them: a sparse response omits an empty description.
      const comparable = (text = ""): string =>
        mode?.api.sparse === true ? text.replace(/[0-9a-f]{64}/g, "{digest}") : text;
      expect(comparable(guideBlock())).toBe(comparable(shown));
      expect(api.requests.filter(isWrite)).toEqual([]);
    } finally {
      await api.close();
      project.remove();
    }
  },
);

/** The assessment as the engine shows it, without the indentation that is the engine's. */
function assessmentIn(text: string): string {
  const lines = text.slice(text.indexOf("Diagnostics:")).split("\n");
  const first = lines.findIndex((line) => line.includes("edgeguard: WafMigration of zone"));
  const indent = /^ */.exec(lines[first] ?? "")?.[0].length ?? 0;
  const last = lines.findIndex((line, index) => index > first && !line.startsWith(" ".repeat(indent + 2)));
  return lines
    .slice(first, last)
    .map((line) => line.slice(indent))
    .join("\n");
}

function guideBlock(): string | undefined {
  const guide = readFileSync(join(REPOSITORY, "docs/guides/migrate-a-waf.md"), "utf8");
  return /<!-- preview: migration-assessed -->\n+```text\n([\s\S]*?)\n```/.exec(guide)?.[1];
}
