import { RESOURCE_PERMISSIONS, type RequiredPermission } from "../../provider/api/permissions";
import { table } from "./limits-markdown";

export type ResourceName = keyof typeof RESOURCE_PERMISSIONS;

/** The table of permissions that the docs show. */
export function permissionsMarkdown(): string {
  const rows = Object.entries(RESOURCE_PERMISSIONS).map(([name, { toRead, toWrite }]) => [
    `\`${name}\``,
    cell(toRead),
    cell(toWrite),
  ]);
  return table(["Resource", "To preview and refresh", "To update and destroy"], rows);
}

/** The sentence in the docstring of a resource class. */
export function permissionsSentence(name: ResourceName): string {
  const { toRead, toWrite } = RESOURCE_PERMISSIONS[name];
  const [reads, writes] = [listed(toRead), listed(toWrite)];
  return reads === writes
    ? `Token permissions: ${writes}, even for a preview.`
    : `Token permissions: ${reads} to preview and refresh; ${writes} to update and destroy.`;
}

function cell(permissions: readonly RequiredPermission[]): string {
  return permissions.map(({ scope, name, level }) => `${scope}: ${name} ${level}`).join("<br>");
}

function listed(permissions: readonly RequiredPermission[]): string {
  const names = [...new Set(permissions.map(({ name, level }) => `${name} ${level}`))];
  return names.join(", ").replace(/, ([^,]*)$/, " and $1");
}
