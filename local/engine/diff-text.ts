/** Formats changes of inputs and outputs as readable lines. */
import { diffMaps, type Change } from "./diff";
import { formatPath } from "./paths";
import { PROVIDER_KEY } from "./provider";
import { isMap, Secret, Unknown, type Value, type ValueMap } from "./values";

const LONGEST_LINE = 100;

/**
 * Formats changes of inputs. `__provider` contains two kilobytes of JavaScript, so only the fact that it changed is
 * shown.
 */
export function inputDiff(old: ValueMap, current: ValueMap): string[] {
  const { [PROVIDER_KEY]: oldCode, ...before } = old;
  const { [PROVIDER_KEY]: newCode, ...after } = current;
  const lines = diffMaps(before, after)
    .filter(({ path: [key] }) => !isInternal(key))
    .flatMap((change) => changeLines(change));
  const isCodeChanged = oldCode !== undefined && newCode !== undefined && oldCode !== newCode;
  return isCodeChanged ? [...lines, "~ __provider: the provider's code"] : lines;
}

export function outputDiff(old: ValueMap, current: ValueMap): string[] {
  return diffMaps(old, current).flatMap((change) => changeLines(change));
}

export function valueLines(map: ValueMap): string[] {
  return Object.keys(map)
    .sort()
    .flatMap((key) => labelled(`${key}: `, show(map[key] ?? null)));
}

/** Whether a key is internal. The CLI also hides these keys, because only providers read them. */
const isInternal = (key: unknown): boolean => typeof key === "string" && key.startsWith("__");

function changeLines(change: Change): string[] {
  const name = formatPath(change.path);
  switch (change.kind) {
    case "add":
      return labelled(`+ ${name}: `, show(change.new ?? null));
    case "delete":
      return labelled(`- ${name}: `, show(change.old ?? null));
    case "update": {
      const [old, current] = [show(change.old ?? null), show(change.new ?? null)];
      if (
        old.length === 1 &&
        current.length === 1 &&
        `${old[0] ?? ""}${current[0] ?? ""}`.length <= LONGEST_LINE
      ) {
        return [`~ ${name}: ${old[0] ?? ""} => ${current[0] ?? ""}`];
      }
      return [...labelled(`~ ${name}: `, old), ...labelled(`  ${" ".repeat(name.length)}=> `, current)];
    }
  }
}

function labelled(label: string, lines: readonly string[]): string[] {
  return lines.map((line, index) => (index === 0 ? label + line : line));
}

/** Formats a value on one line if it fits, otherwise on indented lines. */
function show(value: Value): string[] {
  const line = compact(value);
  if (line.length <= LONGEST_LINE) return [line];
  if (Array.isArray(value)) return ["[", ...value.flatMap((item) => indented(show(item))), "]"];
  if (isMap(value)) {
    return [
      "{",
      ...Object.entries(value).flatMap(([key, item]) => indented(labelled(`${key}: `, show(item)))),
      "}",
    ];
  }
  return [line];
}

function compact(value: Value): string {
  if (value instanceof Secret) return "[secret]";
  if (value instanceof Unknown) return "[unknown]";
  if (Array.isArray(value)) return `[${value.map(compact).join(", ")}]`;
  if (!isMap(value)) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, item]) => `${key}: ${compact(item)}`);
  return entries.length === 0 ? "{}" : `{ ${entries.join(", ")} }`;
}

const indented = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);
