import { RESOURCE_RIGHTS, type Right } from "../../provider/api/rights";
import { table } from "./limits-markdown";

export type ResourceName = keyof typeof RESOURCE_RIGHTS;

/** The table of the README, made of what the messages name. */
export function rightsMarkdown(): string {
  const rows = Object.entries(RESOURCE_RIGHTS).map(([name, { toRead, toWrite }]) => [
    `\`${name}\``,
    cell(toRead),
    cell(toWrite),
  ]);
  return table(["Resource", "To preview and refresh", "To update and destroy"], rows);
}

/** What a class says in its docstring. */
export function rightsSentence(name: ResourceName): string {
  const { toRead, toWrite } = RESOURCE_RIGHTS[name];
  const [reads, writes] = [listed(toRead), listed(toWrite)];
  return reads === writes
    ? `Token permissions: ${writes}, for a preview as well.`
    : `Token permissions: ${reads} to preview and refresh; ${writes} to update and destroy.`;
}

function cell(rights: readonly Right[]): string {
  return rights.map(({ scope, name, level }) => `${scope}: ${name} ${level}`).join("<br>");
}

function listed(rights: readonly Right[]): string {
  const names = [...new Set(rights.map(({ name, level }) => `${name} ${level}`))];
  return names.join(", ").replace(/, ([^,]*)$/, " and $1");
}
