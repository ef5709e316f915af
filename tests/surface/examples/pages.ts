import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { PLAIN } from "../../../provider/runtime/settings";
import { REPOSITORY } from "../../support/repository";
import { LANGUAGES } from "./languages";
import { examplesOf, SCHEMA } from "./program";

/** The pages of the package in the Registry: written by hand, except for their example and their list of settings. */

const settings = z.object({
  config: z.object({ variables: z.record(z.string(), z.object({ description: z.string() })) }),
});

export function registryPages(schema: unknown): readonly (readonly [path: string, text: string])[] {
  const example = examplesOf(SCHEMA.parse(schema)).get("PageShieldPolicy");
  const choices = Object.entries(LANGUAGES).map(
    ([name, print]) =>
      `{{% choosable language ${name} %}}\n\n\`\`\`${name}\n${example ? print(example) : ""}\n\`\`\`\n\n{{% /choosable %}}\n`,
  );
  const env = new Map<string, readonly string[]>(Object.entries(PLAIN).map(([key, row]) => [key, row.env]));
  const list = Object.entries(settings.parse(schema).config.variables).map(([key, { description }]) => {
    const names = env.get(key)?.map((each) => `\`${each}\``);
    return `- \`edgeguard:${key}\`${names ? `, or ${names.join(" or ")}` : ""}: ${description.replaceAll("\n", " ")}\n`;
  });
  return [
    page("_index.md", /(?<=\{\{< chooser .*\n)[^]*(?=\{\{< \/chooser)/, `\n${choices.join("\n")}\n`),
    page(
      "installation-configuration.md",
      /(?<=<!-- settings -->\n)[^]*(?=<!-- \/settings)/,
      `\n${list.join("")}\n`,
    ),
  ];
}

function page(name: string, part: RegExp, text: string): readonly [string, string] {
  const path = join(REPOSITORY, "docs", name);
  return [path, readFileSync(path, "utf8").replace(part, () => text)];
}
