/** The parts of a URN: `urn:pulumi:<stack>::<project>::<parents' types>$<type>::<name>`. */
export interface UrnParts {
  readonly stack: string;
  readonly project: string;
  readonly type: string;
  readonly name: string;
}

/** Splits a URN into its parts. Undefined if the text isn't a URN. */
export function partsOfUrn(urn: string): UrnParts | undefined {
  const [, stack, project, types, name] = /^urn:pulumi:(.*?)::(.*?)::(.*?)::(.+)$/s.exec(urn) ?? [];
  if (stack === undefined || project === undefined || types === undefined || name === undefined)
    return undefined;
  return { stack, project, type: types.split("$").at(-1) ?? "", name };
}
