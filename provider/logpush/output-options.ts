import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import type { BooleanForm } from "../runtime/boolean-form";
import type { LiteralUnion } from "../runtime/fields";
import { extra, extraFound } from "../runtime/members";
import { isJsonObject, omit, sameJson, type JsonObject } from "../runtime/values";

/** What a job writes of each line, and how (seed 002, `output_options`; OpenAPI, logpush_output_options). */

export interface OutputOptionsArgs {
  /**
   * The fields to send, in this order; or `"all"`: every field that the dataset has when the job is made. They are then
   * kept in the output `allFields`; a preview warns when the dataset has got more. Default: the service's choice.
   */
  readonly fieldNames?: pulumi.Input<LiteralUnion<"all"> | readonly pulumi.Input<string>[]>;
  /** Share of the lines to send, 0 to 1, after the filter. Default 1, all. */
  readonly sampleRate?: pulumi.Input<number>;
  /** How times are written. Default `"unixnano"`. */
  readonly timestampFormat?: pulumi.Input<
    LiteralUnion<"unixnano" | "unix" | "rfc3339" | "rfc3339ms" | "rfc3339ns">
  >;
  /** The form of a line, which sets the defaults of the members below. Default `"ndjson"`. */
  readonly outputType?: pulumi.Input<LiteralUnion<"ndjson" | "csv">>;
  /** Before each batch. Default: nothing. */
  readonly batchPrefix?: pulumi.Input<string>;
  /** After each batch. Default: nothing. */
  readonly batchSuffix?: pulumi.Input<string>;
  /** Before each line. Default `{`; nothing for csv. */
  readonly recordPrefix?: pulumi.Input<string>;
  /** After each line. Default `}` and a line break; a line break for csv. */
  readonly recordSuffix?: pulumi.Input<string>;
  /** Go template of a line, in place of the list of fields: `{{.ClientIP}} {{.RayID}}`. Its fields need to be in `fieldNames`. */
  readonly recordTemplate?: pulumi.Input<string>;
  /** Between lines. Default: nothing. */
  readonly recordDelimiter?: pulumi.Input<string>;
  /** Between fields. Default `,`. Without effect beside `recordTemplate`. */
  readonly fieldDelimiter?: pulumi.Input<string>;
  /** Merge subrequests into the request they belong to; dataset `http_requests` only. Default false. */
  readonly mergeSubrequests?: pulumi.Input<boolean>;
  /**
   * Write `${` as `x{`, against CVE-2021-44228. Default false. Sent as text; where Cloudflare points at it as
   * wrong, once more as a boolean.
   */
  readonly cve202144228?: pulumi.Input<boolean>;
  /** Members of the API that this version does not know by name, sent as they are. */
  readonly extra?: pulumi.Input<Record<string, unknown>>;
}

/** Our names, the API's, and what holds where nothing is declared; for csv, where that differs. Source: OpenAPI. */
const MEMBERS = {
  fieldNames: { wire: "field_names" },
  sampleRate: { wire: "sample_rate", unset: 1 },
  timestampFormat: { wire: "timestamp_format", unset: "unixnano" },
  outputType: { wire: "output_type", unset: "ndjson" },
  batchPrefix: { wire: "batch_prefix", unset: "" },
  batchSuffix: { wire: "batch_suffix", unset: "" },
  recordPrefix: { wire: "record_prefix", unset: "{", csv: "" },
  recordSuffix: { wire: "record_suffix", unset: "}\n", csv: "\n" },
  recordTemplate: { wire: "record_template", unset: "" },
  recordDelimiter: { wire: "record_delimiter", unset: "" },
  fieldDelimiter: { wire: "field_delimiter", unset: "," },
  mergeSubrequests: { wire: "merge_subrequests", unset: false },
  cve202144228: { wire: "CVE-2021-44228", unset: false },
} as const satisfies Readonly<Record<string, { readonly wire: string; unset?: unknown; csv?: unknown }>>;

type Name = keyof typeof MEMBERS;
const NAMES = Object.keys(MEMBERS) as readonly Name[];

/** How the OpenAPI of 2024 spells the flag (facts D08). */
const MISSPELT_FLAG = "CVE-2021-4428";
const KNOWN_ON_WIRE: readonly string[] = [...NAMES.map((name) => MEMBERS[name].wire), MISSPELT_FLAG];

const fieldNames = z
  .array(z.string().min(1, "is empty; it has to be the name of a log field"))
  .min(1, 'is an empty list; name at least one field, or write "all"')
  .superRefine((names, ctx) => {
    const seen = new Set<string>();
    for (const [index, name] of names.entries()) {
      if (seen.has(name))
        ctx.addIssue({
          code: "custom",
          path: [index],
          message: `is ${JSON.stringify(name)} once more; keep one`,
        });
      seen.add(name);
    }
  });

const BOOLEAN_REASON = "has to be true or false";

export const outputOptions = z.strictObject({
  fieldNames: z.union([z.literal("all"), fieldNames], 'has to be a list of fields or "all"').exactOptional(),
  sampleRate: z
    .number()
    .refine((rate) => rate >= 0 && rate <= 1, {
      error: ({ input }) => `has to be from 0 to 1, the share of lines to send; it is ${String(input)}`,
    })
    .exactOptional(),
  timestampFormat: z.enum(["unixnano", "unix", "rfc3339", "rfc3339ms", "rfc3339ns"]).exactOptional(),
  outputType: z.enum(["ndjson", "csv"]).exactOptional(),
  batchPrefix: z.string().exactOptional(),
  batchSuffix: z.string().exactOptional(),
  recordPrefix: z.string().exactOptional(),
  recordSuffix: z.string().exactOptional(),
  recordTemplate: z.string().exactOptional(),
  recordDelimiter: z.string().exactOptional(),
  fieldDelimiter: z.string().exactOptional(),
  mergeSubrequests: z.boolean().exactOptional(),
  cve202144228: z
    .union([z.boolean(), z.enum(["true", "false"])], BOOLEAN_REASON)
    .transform((flag) => flag === true || flag === "true")
    .exactOptional(),
  extra: extra(KNOWN_ON_WIRE).exactOptional(),
});

export type OutputOptions = z.output<typeof outputOptions>;

/** The whole of `output_options`: Cloudflare sets what is left out of it to its default. */
export function optionsToRequest(
  options: OutputOptions,
  allFields: readonly string[] | undefined,
  form: BooleanForm,
): Record<string, unknown> {
  const { extra = {}, fieldNames, cve202144228: flag } = options;
  const values: OutputOptions | JsonObject = {
    ...options,
    fieldNames: fieldNames === "all" ? allFields : fieldNames,
    cve202144228: flag === undefined || form === "boolean" ? flag : String(flag),
  };
  const named = NAMES.map((name): [string, unknown] => [MEMBERS[name].wire, values[name]]);
  return { ...extra, ...omit(Object.fromEntries(named), []) };
}

/** Members that the service holds and we do not know: a PUT without them would lose them. */
export function unknownOptions(raw: unknown): Record<string, unknown> {
  return isJsonObject(raw)
    ? Object.fromEntries(Object.entries(omit(raw, KNOWN_ON_WIRE)).filter(([, value]) => value !== null))
    : {};
}

/**
 * The declared options as the service holds them. What it leaves out is at its default; an undeclared member that is not
 * at its default was changed by somebody, and is shown.
 */
export function optionsFromApi(
  declared: OutputOptions,
  raw: unknown,
  allFields: readonly string[] | undefined,
): OutputOptions {
  if (!isJsonObject(raw)) return declared; // Not given back: nothing is known of it.
  const isCsv = (raw["output_type"] ?? declared.outputType) === "csv";
  const found: Record<string, unknown> = { ...fieldsFromApi(declared, raw, allFields, isCsv) };
  for (const name of NAMES) {
    if (name === "fieldNames") continue;
    const usual = isCsv && "csv" in MEMBERS[name] ? MEMBERS[name].csv : MEMBERS[name].unset;
    const own = declared[name];
    const value = valueFromApi(raw, name) ?? usual;
    const asDeclared = own === undefined ? sameJson(value, usual) : sameValue(own, value);
    if (!asDeclared) found[name] = value;
    else if (own !== undefined) found[name] = own;
  }
  return { ...found, ...extraFound(declared.extra, raw) }; // Of the members' own types, or drift that is only ever shown.
}

function fieldsFromApi(
  { fieldNames }: OutputOptions,
  raw: JsonObject,
  allFields: readonly string[] | undefined,
  isCsv: boolean,
): Pick<OutputOptions, "fieldNames"> {
  if (fieldNames === undefined) return {};
  const listed: unknown = raw["field_names"];
  const wanted = fieldNames === "all" ? allFields : fieldNames;
  if (!Array.isArray(listed) || wanted === undefined || sameJson(listed, wanted)) return { fieldNames };
  // Where each field bears its name, another order is Cloudflare's own business.
  const sameFields = sameJson([...(listed as unknown[])].sort(), [...wanted].sort());
  return { fieldNames: sameFields && !isCsv ? fieldNames : (listed as string[]) };
}

/** A member of the answer; null is as good as missing. The flag comes as either of two types, under either of two names. */
function valueFromApi(raw: JsonObject, name: Name): unknown {
  const value = raw[MEMBERS[name].wire] ?? undefined;
  if (name !== "cve202144228") return value;
  const flag = value ?? raw[MISSPELT_FLAG] ?? undefined;
  return typeof flag === "string" ? flag === "true" : flag;
}

/** The service may keep a rate with fewer digits. */
function sameValue(own: unknown, found: unknown): boolean {
  return typeof own === "number" && typeof found === "number"
    ? Math.fround(own) === Math.fround(found)
    : sameJson(own, found);
}

/** Fields that a template uses: `{{.ClientIP}}` or `{{ .ClientIP }}`. */
export function fieldsInTemplate(template: string): string[] {
  return [...template.matchAll(/\{\{-?\s*\.(\w+)\s*-?\}\}/g)].map(([, name = ""]) => name);
}
