import { logpushFailures } from "./failures";
import type { Fields } from "./fields";
import type { OutputOptions } from "./entities";

/** The older form of output options, as a query or as a whole address. */
export function readLogpull(text: string, fields?: Fields): OutputOptions {
  const query = new URLSearchParams(text.slice(text.indexOf("?") + 1));
  const names = query
    .get("fields")
    ?.split(",")
    .filter((name) => name !== "");
  const unknown = fields === undefined ? undefined : names?.find((name) => !fields.has(name));
  if (unknown !== undefined) throw logpushFailures.logpullInvalid(`unknown field ${unknown}`);

  const format = query.get("timestamps") ?? "unixnano";
  if (format !== "unixnano" && format !== "unix" && format !== "rfc3339") {
    throw logpushFailures.logpullInvalid(`unknown timestamps ${format}`);
  }
  const sample = Number(query.get("sample") ?? "1");
  if (!(sample >= 0 && sample <= 1)) throw logpushFailures.logpullInvalid("sample must be between 0 and 1");
  return {
    ...(names === undefined ? {} : { field_names: names }),
    timestamp_format: format,
    sample_rate: sample,
    "CVE-2021-44228": query.get("CVE-2021-44228") === "true",
  };
}
