import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LocalApi, managedRulesets } from "edgeguard-local";
import { omitAbsent, type JsonObject } from "../../../provider/basics/json";
import { Operation } from "../../support/operation";
import type { ResourceName } from "../../support/permissions-markdown";
import { SAMPLES } from "../../support/samples";

/** A mistake that people make: `mistakes.test.ts` plays it, and the reference shows it with what the preview says. */
export interface Mistake {
  /** Its heading in the reference, in sentence case and without a period. */
  readonly title: string;
  /** What the program writes, beside the resource's sample. */
  readonly write?: JsonObject | ((api: LocalApi) => JsonObject);
  /** What to write instead: it passes the preview. */
  readonly instead?: JsonObject | ((api: LocalApi) => JsonObject);
  /** What to do where no argument is wrong. Markdown. */
  readonly fix?: string;
  /** Files in the program's folder: text by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** The situation before the preview, such as objects in Cloudflare or a fault. */
  readonly before?: (api: LocalApi) => unknown;
  /** The resource exists already, as the sample declares it with these arguments. */
  readonly existing?: JsonObject;
  /** The message if the mistake needs no resource. */
  readonly says?: () => readonly string[];
  /** Stack configuration. */
  readonly config?: Readonly<Record<string, string>>;
  /** The preview only warns. */
  readonly warns?: true;
}

/** The preview's messages about the mistake, and about the fixed program. */
export interface Played {
  readonly refused: readonly string[];
  readonly warned: readonly string[];
  /** As the reference prints it. */
  readonly said: string;
  /** The arguments that matter, as the program writes them. */
  readonly written?: JsonObject;
  readonly instead?: JsonObject;
  readonly insteadRefused: readonly string[];
}

export async function playMistake(api: LocalApi, type: ResourceName, mistake: Mistake): Promise<Played> {
  const folder = mkdtempSync(join(tmpdir(), "edgeguard-mistakes-"));
  api.reset();
  api.clearFaults();
  if (mistake.says !== undefined) {
    const warned = mistake.says();
    rmSync(folder, { recursive: true });
    return { refused: [], warned, said: warned.join("\n"), insteadRefused: [] };
  }
  const declared = (more: Mistake["write"]): JsonObject => {
    const given = { ...SAMPLES[type](api).args, ...(typeof more === "function" ? more(api) : more) };
    return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  };
  const previewed = async (args: JsonObject): Promise<{ refused: string[]; warned: string[] }> => {
    const op = new Operation(api, { config: { ...mistake.config } });
    try {
      const existing =
        mistake.existing === undefined
          ? undefined
          : await op.up(type, inFolder(declared(mistake.existing), folder));
      op.warned.length = 0;
      const refused = await op.refusals(type, inFolder(args, folder), existing);
      if (refused.length === 0 && existing !== undefined)
        await op
          .preview(type, inFolder(args, folder), existing)
          .catch((error: unknown) => refused.push(error instanceof Error ? error.message : String(error)));
      return { refused, warned: op.warned };
    } finally {
      await op.host.close();
    }
  };
  try {
    for (const [name, text] of Object.entries(mistake.files ?? {})) writeFileSync(join(folder, name), text);
    await mistake.before?.(api);
    const { refused, warned } = await previewed(declared(mistake.write));
    const instead =
      mistake.instead === undefined ? { refused: [] } : await previewed(declared(mistake.instead));
    const known = JSON.stringify([
      api.zones,
      api.accounts,
      api.namespaces,
      managedRulesets,
      declared(mistake.write),
    ]);
    const said = steady((mistake.warns === true ? warned : refused).join("\n"), folder, known);
    const [written, right] = [mistake.write, mistake.instead].map((given) =>
      typeof given === "function" ? given(api) : given,
    );
    return {
      refused,
      warned,
      said,
      insteadRefused: instead.refused,
      ...omitAbsent({ written, instead: right }),
    };
  } finally {
    rmSync(folder, { recursive: true });
    api.clearFaults();
  }
}

/** Paths are the program's: relative to its folder. */
function inFolder(args: JsonObject, folder: string): JsonObject {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [
      name,
      (name === "file" || name === "directory") && typeof value === "string" ? join(folder, value) : value,
    ]),
  );
}

/** Leaves out what differs from run to run, or by the place of the tests: IDs but `known` ones, Ray IDs, the folder. */
function steady(text: string, folder: string, known: string): string {
  return text
    .replaceAll(`${folder}/`, "")
    .replace(/\b[0-9a-f]{32}\b/g, (id) => (known.includes(id) ? id : "0123456789abcdef0123456789abcdef"))
    .replace("no response: Error: ", "no response: ") // A test runner's errors are of another realm.
    .replace(/\b[0-9a-f]{16}-LOC\b/g, "8f1a2b3c4d5e6f70-FRA");
}
