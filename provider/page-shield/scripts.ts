import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import type { Bag } from "../runtime/values";
import { CONNECTION_MEMBERS, toConnection, type Connection } from "./connections";
import {
  getDetected,
  listDetected,
  type DetectedKind,
  type DetectedList,
  type DetectedListArgs,
} from "./detected";
import { amount, furtherMembers, present, text } from "../runtime/members";
import { ask, askOutput, type LookupOptions, type Inputs } from "../runtime/lookup";

/**
 * What was found in a script's content (seed 000, "Script"). Scores go from 1 to 99, lower is worse; a script that has
 * not been scored has none, whether the service says null or nothing.
 */
export interface ScriptContent {
  /** SHA-256 of the content, 64 hexadecimal digits. */
  readonly hash?: string;
  /** What the classification as malicious goes by: see `isMalicious`. */
  readonly jsIntegrityScore?: number;
  readonly obfuscationScore?: number;
  readonly dataflowScore?: number;
  /** Source: OpenAPI; the seed does not know it. */
  readonly cryptominingScore?: number;
  /** Source: OpenAPI; the seed does not know it. */
  readonly magecartScore?: number;
  /** Source: OpenAPI; the seed does not know it. */
  readonly malwareScore?: number;
  /** When the content was fetched, ISO 8601. */
  readonly fetchedAt?: string;
  /** Members of the answer that this version does not know, under the API's own names. */
  readonly extra?: Bag;
}

/**
 * A script seen on a page of the zone (seed 000, "Script"): where, as with a connection, and what is known of its
 * content. Only `id`, `url` and `host` are always there; what the plan lacks is absent.
 */
export interface Script extends Connection, ScriptContent {
  /** Contents it had, newest first. Only in the detail. */
  readonly versions?: readonly ScriptContent[];
}

const CONTENT_MEMBERS = {
  hash: text,
  js_integrity_score: amount,
  obfuscation_score: amount,
  dataflow_score: amount,
  cryptomining_score: amount,
  magecart_score: amount,
  malware_score: amount,
  fetched_at: text,
};

function toContent(raw: z.output<z.ZodObject<typeof CONTENT_MEMBERS>>): ScriptContent {
  return present({
    hash: raw.hash,
    jsIntegrityScore: raw.js_integrity_score,
    obfuscationScore: raw.obfuscation_score,
    dataflowScore: raw.dataflow_score,
    cryptominingScore: raw.cryptomining_score,
    magecartScore: raw.magecart_score,
    malwareScore: raw.malware_score,
    fetchedAt: raw.fetched_at,
  });
}

const version = z
  .looseObject(CONTENT_MEMBERS)
  .transform((raw): ScriptContent => ({ ...toContent(raw), ...furtherMembers(raw, CONTENT_MEMBERS) }));

const SCRIPT_MEMBERS = { ...CONNECTION_MEMBERS, ...CONTENT_MEMBERS, versions: z.array(version).nullish() };

export const SCRIPTS: DetectedKind<Script> = {
  path: "scripts",
  noun: "script",
  everything: { exclude_cdn_cgi: false, exclude_duplicates: false },
  record: z.looseObject(SCRIPT_MEMBERS).transform((raw) => ({
    ...toConnection(raw),
    ...toContent(raw),
    ...present({ versions: raw.versions }),
    ...furtherMembers(raw, SCRIPT_MEMBERS),
  })),
};

/**
 * Scripts of a zone, on the Pro plan and above. Only `active` ones unless `status` says otherwise; the service leaves
 * out duplicates and its own `/cdn-cgi/` paths unless `filters` say otherwise.
 *
 * @throws when an argument is wrong, the token lacks Page Shield Read, or the plan lacks scripts.
 */
export function getScripts(args: DetectedListArgs, opts: LookupOptions = {}): Promise<DetectedList<Script>> {
  return ask(opts, (host) => listDetected(host, "getScripts", SCRIPTS, args));
}

/** `getScripts` for arguments that are outputs. Unknown in a preview without credentials. */
export function getScriptsOutput(
  args: Inputs<DetectedListArgs>,
  opts: LookupOptions = {},
): pulumi.Output<DetectedList<Script>> {
  const what = "getScriptsOutput";
  return askOutput(what, args, opts, (host, known) => listDetected(host, what, SCRIPTS, known));
}

export interface ScriptArgs {
  /** The zone, 32 hexadecimal digits. */
  readonly zoneId: string;
  /** The script's id, 32 hexadecimal digits, as `getScripts` gives it. */
  readonly scriptId: string;
}

/**
 * One script, in any state, with `pageUrls` and `versions` (seed 000, rule 3).
 *
 * @throws when an id is malformed, the zone has no such script, or the token lacks Page Shield Read.
 */
export function getScript(args: ScriptArgs, opts: LookupOptions = {}): Promise<Script> {
  return ask(opts, (host) => getDetected(host, "getScript", SCRIPTS, args));
}

/** `getScript` for arguments that are outputs. Unknown in a preview without credentials. */
export function getScriptOutput(args: Inputs<ScriptArgs>, opts: LookupOptions = {}): pulumi.Output<Script> {
  const what = "getScriptOutput";
  return askOutput(what, args, opts, (host, known) => getDetected(host, what, SCRIPTS, known));
}
