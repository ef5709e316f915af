import { readFilter } from "../../logpush/filter-read";
import { codeOf, jsonText, type Code } from "../code";

/** Writes a filter as an object, or as JSON where the program has no type for it or a job couldn't declare it. */
export function filterCode(text: string, hasBuilders: boolean): Code {
  const read = readFilter(text);
  if (!("filter" in read)) return codeOf(text);
  return hasBuilders ? codeOf({ where: read.filter.where }) : jsonText(text);
}
