import { finished } from "node:stream/promises";
import { PassThrough } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { z } from "zod";
import { visible } from "../../provider/basics/printable";
import { writeHtml } from "../../provider/survey/html";
import type { Zone } from "../../provider/survey/model";
import { OpenedPage } from "./browser";
import { HOSTILE_NAMES, sampleHead, sampleZone, withText } from "./sample";
import { Ground } from "./support";

/** What a survey makes of names that somebody chose to break it. */

const INVISIBLE = /[\p{Cc}\p{Bidi_Control}\u200b\u2028\u2029]/u;

/** The rows of a CSV file. */
function parseCsv(text: string): string[][] {
  const cells = text.matchAll(/("(?:[^"]|"")*"|[^",\n]*)([,\n])/g);
  const rows: string[][] = [[]];
  for (const [, cell = "", end] of cells) {
    rows.at(-1)?.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    if (end === "\n") rows.push([]);
  }
  return rows.slice(0, -1);
}

const named = z.looseObject({});

describe("a survey of objects with hostile names", () => {
  it.each(HOSTILE_NAMES)("writes %j as text to every file", async (name) => {
    const ground = await Ground.with();
    const rename = (result: unknown, members: object): unknown =>
      z
        .array(named)
        .parse(result ?? [])
        .map((each) => ({ ...each, ...members }));
    const { code, stderr } = await ground.surveyChanged(
      (path, result) => {
        const destination_conf = `https://logs.example/${name}?header_Authorization=${name}`;
        if (/logpush\/jobs/.test(path))
          return rename(result, { name, destination_conf, error_message: name });
        if (/page_shield\/policies/.test(path))
          return rename(result, { description: name, expression: name });
        if (/page_shield\/scripts/.test(path)) return rename(result, { url: `https://x.example/${name}` });
        if (/kv\/namespaces(\?|$)/.test(path)) return rename(result, { title: name });
        if (/\/zones\?/.test(path)) return rename(result, { status: name });
        return undefined;
      },
      "--budget",
      "100",
      "--zones",
      "few.txt",
    );
    expect([code, stderr]).toEqual([0, expect.not.stringContaining("not readable")]);
    const zone = ground.zone(ground.api.zones.shop);
    expect(zone.jobs).toContainEqual(expect.objectContaining({ name }));
    expect(zone.policies).toContainEqual(expect.objectContaining({ description: name }));
    const [head = [], ...rows] = parseCsv(ground.read("survey/survey.csv"));
    expect(rows.map(({ length }) => length)).toEqual(rows.map(() => head.length));
    const jobs = rows.map((row) => row[head.indexOf("jobs")]).join();
    // UTF-8 has no half of a surrogate pair.
    expect(jobs).toContain(visible(name).replace(/\p{Surrogate}/gu, "\ufffd"));
    for (const file of ["survey.json", "survey.csv", "survey.html"])
      expect(ground.read(`survey/${file}`).replaceAll("\n", "").replaceAll("\t", "")).not.toMatch(INVISIBLE);
    const shown = new OpenedPage(ground.read("survey/survey.html")).zone(zone.id).textContent;
    expect(shown).toContain(visible(name));
  });
});

async function page(...zones: readonly Zone[]): Promise<OpenedPage> {
  async function* given(): AsyncGenerator<Zone, void, undefined> {
    yield* zones;
    await Promise.resolve();
  }
  const out = new PassThrough();
  const html = textOf(out);
  await writeHtml(out, await sampleHead(1), given());
  out.end();
  await finished(out);
  return new OpenedPage(await html);
}

describe("survey.html", () => {
  it.each(HOSTILE_NAMES)("shows a zone full of %j", async (name) => {
    const zone = withText(sampleZone(7), name);
    const opened = await page(zone);
    const dialog = opened.zone(zone.id);
    expect(dialog.all("h2").map(({ textContent }) => textContent)).toEqual([visible(name)]);
    expect(opened.body.textContent.replace(/[\n\t]/g, "")).not.toMatch(INVISIBLE);
    for (const { attributes } of opened.body.all("a"))
      expect(attributes.get("href")).toMatch(/^(#|https:\/\/(dash|developers)\.cloudflare\.com\/)/);
  });

  it("shows every value of a zone beside its name", async () => {
    const zone = sampleZone(3);
    const dialog = (await page(zone)).zone(zone.id);
    const [names, values] = [dialog.all("dt"), dialog.all("dd")].map((all) =>
      all.map(({ textContent }) => textContent),
    );
    const facts = (names ?? []).map((name, index) => [name, values?.[index]]);
    const said = [
      ["Zone ID", zone.id],
      ["Account", "Shops & <b>Brands</b>"],
      ["Payment pages", "No"],
      ["Updated at", "2026-06-03 08:00 UTC"],
      ["Expression", 'http.host eq "checkout.zone-3.example"'],
      ["Not scored", "0"],
      ["Versions behind", "0"],
      ["Readiness", "done"],
      ["To import them, run", `edgeguard import --zone ${zone.id} --only logpush --out zone-3`],
    ];
    for (const fact of said) expect(facts).toContainEqual(fact);
    expect(dialog.all("th").map(({ textContent }) => textContent)).toContain("Destination");
    expect(dialog.all("h4").map(({ textContent }) => textContent)).toContain("Cloudflare Managed Ruleset");
  });
});
