import { formatNumber } from "../limits/workers";
import { printable } from "../basics/printable";
import { pluralize, truncate } from "../basics/words";
import { parseJson } from "../basics/json";
import { CommandError } from "../terminal/errors";
import { readText } from "../terminal/files";
import { print, printToStderr, type Io } from "../terminal/io";
import { changesBetween, VERDICTS, type Change } from "./differences";
import { survey, type Survey } from "./model";

/** The command `edgeguard survey diff`, which reads two surveys and describes the differences. */

export async function compareSurveys(io: Io, oldFile: string, newFile: string): Promise<void> {
  const [before, after] = [await readSurvey(io, oldFile), await readSurvey(io, newFile)];
  if (Date.parse(before.at) > Date.parse(after.at))
    printToStderr(
      io,
      `edgeguard: ${oldFile} is newer than ${newFile}, so better and worse are reversed. Pass the older survey first.`,
    );
  await print(io, printable(textOf(before, after, changesBetween(before, after))));
}

async function readSurvey(io: Io, file: string): Promise<Survey> {
  const text = await readText(io, file, `the survey in ${file}`);
  const json = parseJson(text);
  if (json === undefined)
    throw new CommandError(`${file} is not valid JSON. Pass a survey.json that \`edgeguard survey\` wrote.`);
  const parsed = survey.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new CommandError(
    `${file} is not a survey that this version can read (${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}). Pass a survey.json that \`edgeguard survey\` wrote. If a later version wrote it, update pulumi-edgeguard.`,
  );
}

const HEADINGS: Readonly<Record<Change["verdict"], string>> = {
  worse: "Worse",
  better: "Better",
  neutral: "Neither better nor worse",
};

function textOf(before: Survey, after: Survey, changes: readonly Change[]): string {
  const groups = VERDICTS.flatMap((verdict) => {
    const group = changes.filter((each) => each.verdict === verdict);
    const lines = verdict === "neutral" ? groupedLines(group) : group.map((each) => lineOf(each.name, each));
    return group.length === 0 ? [] : [`${HEADINGS[verdict]} (${formatNumber(group.length)}):`, ...lines];
  });
  const head = `${before.at} -> ${after.at}: ${formatNumber(before.zoneCount)} -> ${pluralize(after.zoneCount, "zone")}`;
  return `${[head, ...(groups.length === 0 ? ["Nothing that is compared has changed."] : groups)].join("\n")}\n`;
}

/** Returns one line for a change that's the same in many zones, such as a permission that the token no longer has. */
function groupedLines(changes: readonly Change[]): string[] {
  const groups = new Map<string, Change[]>();
  for (const each of changes) {
    const key = JSON.stringify([each.scope, each.what, each.before, each.after]);
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined || group.length < GROUPED) return group.map((each) => lineOf(each.name, each));
    return [lineOf(`${first.name} and ${formatNumber(group.length - 1)} other ${first.scope}s`, first)];
  });
}

const GROUPED = 4;

function lineOf(where: string, { what, before, after }: Change): string {
  return `  ${where}: ${what}: ${truncate(before, SHOWN)} -> ${truncate(after, SHOWN)}`;
}

/** The maximum length of a value. survey.json contains longer values in full. */
const SHOWN = 120;
