import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import type { BooleanForm } from "../runtime/boolean-form";
import type { LiteralUnion } from "../runtime/fields";
import { EXTRA } from "../runtime/extra";
import { isJsonObject, omit, sameJson, type JsonObject } from "../basics/json";

/**
 * A job's `output_options`: what it writes for each line, and how. Source: `logpush_output_options` in Cloudflare's
 * OpenAPI schema.
 */

/** What a Logpush job writes for each log line, and how. */
export interface OutputOptionsArgs {
  /**
   * The fields to send, in this order, or `"all"` for every field that the dataset has when the job is created. The output
   * `allFields` keeps those fields, and a preview warns once the dataset has more or fewer. By default, Cloudflare
   * chooses, or what someone else chose stays. Updates in place.
   */
  readonly fieldNames?: pulumi.Input<LiteralUnion<"all"> | readonly pulumi.Input<string>[]>;
  /**
   * The share of lines to send, above 0 and at most 1, after the filter. Updates in place.
   * @defaultValue `1`, all lines
   */
  readonly sampleRate?: pulumi.Input<number>;
  /**
   * The format of timestamps. Updates in place.
   * @defaultValue `"unixnano"`
   */
  readonly timestampFormat?: pulumi.Input<
    LiteralUnion<"unixnano" | "unix" | "rfc3339" | "rfc3339ms" | "rfc3339ns">
  >;
  /**
   * The format of a line. It determines the defaults of `recordPrefix` and `recordSuffix`. Updates in place.
   * @defaultValue `"ndjson"`
   */
  readonly outputType?: pulumi.Input<LiteralUnion<"ndjson" | "csv">>;
  /**
   * The text written before each batch. Updates in place.
   * @defaultValue nothing
   */
  readonly batchPrefix?: pulumi.Input<string>;
  /**
   * The text written after each batch. Updates in place.
   * @defaultValue nothing
   */
  readonly batchSuffix?: pulumi.Input<string>;
  /**
   * The text written before each line. Updates in place.
   * @defaultValue `{`; nothing for CSV
   */
  readonly recordPrefix?: pulumi.Input<string>;
  /**
   * The text written after each line. Updates in place.
   * @defaultValue `}` and a line break; only a line break for CSV
   */
  readonly recordSuffix?: pulumi.Input<string>;
  /**
   * A Go template for a line, used instead of the list of fields: `{{.ClientIP}} {{.RayID}}`. List the template's
   * fields in `fieldNames`. Updates in place.
   */
  readonly recordTemplate?: pulumi.Input<string>;
  /**
   * The text written between lines. Updates in place.
   * @defaultValue nothing
   */
  readonly recordDelimiter?: pulumi.Input<string>;
  /**
   * The text written between fields. Has no effect with `recordTemplate`. Updates in place.
   * @defaultValue `,`
   */
  readonly fieldDelimiter?: pulumi.Input<string>;
  /**
   * Whether subrequests are merged into the request they belong to. Works only with dataset `http_requests` of a zone.
   * Updates in place.
   * @defaultValue `false`
   */
  readonly mergeSubrequests?: pulumi.Input<boolean>;
  /**
   * Whether `${` is written as `x{`, to mitigate CVE-2021-44228. Sent as a string, and again as a boolean if Cloudflare
   * rejects the string. Updates in place.
   * @defaultValue `false`
   */
  readonly cve202144228?: pulumi.Input<boolean>;
  /**
   * Whether fields that are objects are written as JSON in a string, as BigQuery needs them together with other options
   * for the format. Updates in place.
   * @defaultValue `false`
   */
  readonly stringifyObject?: pulumi.Input<boolean>;
  /** API options that this version doesn't know. They're sent unchanged. Updates in place. */
  readonly extra?: pulumi.Input<Record<string, unknown>>;
}

/**
 * The options' API names and defaults, including the defaults for CSV if they differ. Source: `logpush_output_options`
 * in Cloudflare's OpenAPI schema.
 */
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
  stringifyObject: { wire: "stringify_object", unset: false },
} as const satisfies Readonly<Record<string, { readonly wire: string; unset?: unknown; csv?: unknown }>>;

type Name = keyof typeof MEMBERS;
const NAMES = Object.keys(MEMBERS) as readonly Name[];

/** The CVE flag's name in Cloudflare's OpenAPI schema of 2024. */
const MISSPELT_FLAG = "CVE-2021-4428";
const KNOWN_ON_WIRE: readonly string[] = [...NAMES.map((name) => MEMBERS[name].wire), MISSPELT_FLAG];

const fieldNames = z
  .array(z.string().min(1, "must be the name of a log field, not an empty string"))
  .min(1, 'must not be an empty list. List at least one field, or set "all"')
  .superRefine((names, ctx) => {
    const seen = new Set<string>();
    for (const [index, name] of names.entries()) {
      if (seen.has(name))
        ctx.addIssue({
          code: "custom",
          path: [index],
          message: `repeats ${JSON.stringify(name)}. Remove it`,
        });
      seen.add(name);
    }
  });

const BOOLEAN_REASON = "must be true or false";

/** What a Logpush job writes for each log line, and how, in canonical form. An absent option has its default value. */
export interface OutputOptions {
  /** The fields, in this order, or `"all"` for every field of the dataset. */
  readonly fieldNames?: "all" | readonly string[];
  /** The share of lines to send, above 0 and at most 1, after the filter. */
  readonly sampleRate?: number;
  /** The format of timestamps. */
  readonly timestampFormat?: "unixnano" | "unix" | "rfc3339" | "rfc3339ms" | "rfc3339ns";
  /** The format of a line. */
  readonly outputType?: "ndjson" | "csv";
  /** The text written before each batch. */
  readonly batchPrefix?: string;
  /** The text written after each batch. */
  readonly batchSuffix?: string;
  /** The text written before each line. */
  readonly recordPrefix?: string;
  /** The text written after each line. */
  readonly recordSuffix?: string;
  /** A Go template for a line, used instead of the list of fields. */
  readonly recordTemplate?: string;
  /** The text written between lines. */
  readonly recordDelimiter?: string;
  /** The text written between fields. */
  readonly fieldDelimiter?: string;
  /** Whether subrequests are merged into the request they belong to. */
  readonly mergeSubrequests?: boolean;
  /** Whether `${` is written as `x{`, to mitigate CVE-2021-44228. */
  readonly cve202144228?: boolean;
  /** Whether fields that are objects are written as JSON in a string. */
  readonly stringifyObject?: boolean;
  /** API options that this version doesn't know. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

export const outputOptions: z.ZodType<OutputOptions> = z.strictObject({
  fieldNames: z.union([z.literal("all"), fieldNames], 'must be a list of fields or "all"').exactOptional(),
  sampleRate: z
    .number()
    .refine((rate) => rate > 0 && rate <= 1, {
      error: ({ input }) =>
        `must be above 0 and at most 1 (the share of log lines to send), not ${String(input)}`,
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
  stringifyObject: z.boolean().exactOptional(),
  extra: EXTRA.schema(KNOWN_ON_WIRE).exactOptional(),
});

/** Returns the complete `output_options`, because Cloudflare resets omitted options to their defaults. */
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

/**
 * Returns the options that this package doesn't know. An update must send them, because a PUT replaces all options.
 */
export function unknownOptions(raw: unknown): Record<string, unknown> {
  return isJsonObject(raw)
    ? Object.fromEntries(Object.entries(omit(raw, KNOWN_ON_WIRE)).filter(([, value]) => value !== null))
    : {};
}

/**
 * Converts the options to arguments, which equal the declared ones if nothing differs. Options that the API leaves out
 * have their defaults. An undeclared option with any other value shows up as drift.
 */
export function optionsFromApi(
  declared: OutputOptions,
  options: unknown,
  allFields: readonly string[] | undefined,
): OutputOptions {
  const raw = options === null ? {} : options; // Null if none are set.
  if (!isJsonObject(raw)) return declared; // The API doesn't show it.
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
  return { ...found, ...EXTRA.found(declared.extra, raw) }; // Drift may have any type; it is only shown.
}

const withFields = z.looseObject({ field_names: z.array(z.string()) });

/** Returns the fields that the API lists in the options. Undefined if it lists none. */
export function listedFields(raw: unknown): readonly string[] | undefined {
  return withFields.safeParse(raw).data?.field_names;
}

function fieldsFromApi(
  { fieldNames }: OutputOptions,
  raw: JsonObject,
  allFields: readonly string[] | undefined,
  isCsv: boolean,
): Pick<OutputOptions, "fieldNames"> {
  if (fieldNames === undefined) return {};
  const listed = listedFields(raw);
  const wanted = fieldNames === "all" ? allFields : fieldNames;
  if (listed === undefined) return {};
  if (wanted === undefined || sameJson(listed, wanted)) return { fieldNames };
  // Only CSV depends on the order; elsewhere Cloudflare may reorder the fields.
  const sameFields = sameJson([...listed].sort(), [...wanted].sort());
  return { fieldNames: sameFields && !isCsv ? fieldNames : listed };
}

/** Reads a field of the response. Null counts as missing. The CVE flag may be a boolean or a string, under either of two names. */
function valueFromApi(raw: JsonObject, name: Name): unknown {
  const value = raw[MEMBERS[name].wire] ?? undefined;
  if (name !== "cve202144228") return value;
  const flag = value ?? raw[MISSPELT_FLAG] ?? undefined;
  return typeof flag === "string" ? flag === "true" : flag;
}

/** Whether two values are equal. A rate is compared with less precision, because Cloudflare may keep fewer digits. */
function sameValue(own: unknown, found: unknown): boolean {
  return typeof own === "number" && typeof found === "number"
    ? Math.fround(own) === Math.fround(found)
    : sameJson(own, found);
}

/** Returns the fields that a template uses, as `{{.ClientIP}}` or `{{ .ClientIP }}`. */
export function fieldsInTemplate(template: string): string[] {
  return [...template.matchAll(/\{\{-?\s*\.(\w+)\s*-?\}\}/g)].map(([, name = ""]) => name);
}
