import type { Redactor } from "../api/redact";
import { trimEnd } from "../api/printable";
import { LOGPUSH } from "../limits";
import { nearest } from "../runtime/nearest";
import { ownMember } from "../runtime/values";
import {
  decoded,
  NON_SECRET_PARAMETERS,
  isMasked,
  isMaskedAddress,
  isToken,
  KEY_PAIR,
  parseDestination,
  SCHEME_NAMES,
  schemeOf,
  valueOf,
  type Parameter,
  type ParsedDestination,
} from "./destination-schemes";

/**
 * The text that says where a job pushes to: what is wrong with it, what of it is secret, and how two of them compare
 * where secrets are hidden. No sentence of this file holds a part of the text that may be a secret.
 */

/** A bucket, a host, or a host with its port. */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/**
 * Whether a `/`, `?` or `&` may stand in a user or password, unencoded: the parts then are not what they seem, and none of
 * them may be shown. An `@` of a path or query that is meant is written as %40.
 */
export function isAmbiguous({ host, path, parameters }: ParsedDestination): boolean {
  return (host !== "" && !HOST.test(host)) || [path, ...parameters.flat()].some((part) => part.includes("@"));
}

/** What is wrong with the text, each a sentence that goes on from the property's name. */
export function destinationProblems(text: string): readonly string[] {
  if (text.length > LOGPUSH.MAX_DESTINATION_CHARACTERS) {
    return [`is ${text.length} characters; the limit is ${LOGPUSH.MAX_DESTINATION_CHARACTERS}`];
  }
  const parsed = parseDestination(text);
  if (parsed === undefined) return [unreadableProblem(text)];
  const { scheme, host, path } = parsed;
  const { place, parameters, path: demanded } = schemeOf(parsed);
  const problems = [
    /\s/.test(text) && "holds white space; write it as %20",
    /<[^>]*>/.test(text) && "holds a <…> of the documentation; put your own value in its place",
    host === "" && `needs a ${place === "bucket" ? "bucket" : "host"} after ${scheme}://`,
    host !== "" &&
      !HOST.test(host.replace(/[\s<>{}]/g, "")) &&
      "needs a host, or host:port, after :// and after the @ of a user and password; write @ / ? # in a password as %40 %2F %3F %23",
    missingProblem(parsed),
    duplicateProblem(parsed),
    placeholderProblem(parsed),
    ...Object.entries(parameters).flatMap(([name, parameter]) => {
      const value = valueOf(parsed, name);
      return value === undefined ? [] : (parameter.problems?.(value) ?? []);
    }),
    demanded?.form.test(path) === false && demanded.problem,
  ];
  return problems.filter((problem) => typeof problem === "string");
}

/** What no builder would have written, and Cloudflare may accept all the same; each goes on from the property's name. */
export function destinationWarnings(text: string): readonly string[] {
  const parsed = parseDestination(text);
  if (parsed === undefined) return [];
  const doubts = [
    ...Object.entries(schemeOf(parsed).parameters).flatMap(([name, parameter]) => {
      const value = valueOf(parsed, name);
      return value === undefined ? [] : valueWarnings(name, value, parameter);
    }),
    parsed.path.includes("//") && "has an empty folder, //, in its path",
  ];
  return doubts.filter((doubt) => typeof doubt === "string");
}

function unreadableProblem(text: string): string {
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text) ?? [];
  if (scheme === undefined || SCHEME_NAMES.includes(scheme.toLowerCase())) {
    return "has to be an address such as s3://bucket/path?region=us-east-1; it is a value that is not shown";
  }
  if (scheme.toLowerCase() === "http") return "begins with http://; the service pushes to https:// only";
  const near = nearest(scheme, SCHEME_NAMES);
  const advice = near === undefined ? `Schemes: ${SCHEME_NAMES.join(", ")}` : `Did you mean ${near}://?`;
  return `has a scheme that Logpush doesn't push to. ${advice}`;
}

function missingProblem(parsed: ParsedDestination): string | false {
  const { parameters } = schemeOf(parsed);
  // Both keys, where storage is not Amazon's own or one of them is given.
  const wantsKeys = ["endpoint", ...KEY_PAIR].some(
    (name) => Object.hasOwn(parameters, name) && valueOf(parsed, name) !== undefined,
  );
  const missing = Object.entries(parameters)
    .filter(([name, { required }]) => required === true || (wantsKeys && KEY_PAIR.includes(name)))
    .filter(([name]) => (valueOf(parsed, name) ?? "") === "")
    .map(([name]) => JSON.stringify(name));
  return missing.length > 0 && `lacks ${missing.join(", ")} in its query, which ${parsed.scheme}:// needs`;
}

function duplicateProblem(parsed: ParsedDestination): string | false {
  const names = parsed.parameters.map(([name]) => name);
  const twice = names.find((name, index) => parsed.scheme !== "https" && names.indexOf(name) !== index);
  if (twice === undefined) return false;
  return `has ${isKnownName(parsed, twice) ? `the parameter "${twice}"` : "a parameter"} twice; keep one`;
}

function valueWarnings(name: string, value: string, { only, flag, form }: Parameter): (string | false)[] {
  return [
    only !== undefined && value !== only && `has an "${name}" other than ${only}, the only one documented`,
    flag === true && !/^(true|false)?$/.test(value) && `has an "${name}" that is neither true nor false`,
    form?.is.test(decoded(value)) === false && `has an unusual "${name}": ${form.words} are usual`,
  ];
}

function placeholderProblem(parsed: ParsedDestination): string | false {
  const { scheme, host, path, parameters } = parsed;
  const inPath = path.match(/\{[^}]*\}?/g) ?? [];
  if (inPath.some((word) => word !== "{DATE}"))
    return "has a placeholder in its path that is not {DATE}, the only one there is";
  if (inPath.length > 0 && schemeOf(parsed).dated !== true)
    return `has {DATE} in its path, which the service replaces for s3, r2, gs and azure only, not for ${scheme}`;
  const isElsewhere = [host, ...parameters.map(([, value]) => value)].some((part) => /\{[^}]*\}/.test(part));
  return isElsewhere && "has a placeholder outside its path; {DATE} becomes the day in the path only";
}

/** Whether Cloudflare is known to want a token for the destination. */
export function needsProof(text: string): boolean {
  const parsed = parseDestination(text);
  if (parsed === undefined) return false;
  const { proof } = schemeOf(parsed);
  if (proof !== "unless keys") return proof === "always";
  return !KEY_PAIR.every((name) => (valueOf(parsed, name) ?? "") !== "");
}

/**
 * The destination for people: scheme, and what cannot hold a credential. `s3://bucket/path`, but `https://host`, whose
 * path may be one.
 */
export function shownDestination(text: string): string {
  const parsed = parseDestination(text);
  if (parsed === undefined || isAmbiguous(parsed)) return "a destination that is not shown";
  const { scheme, host, path } = parsed;
  return schemeOf(parsed).place === "bucket" ? `${scheme}://${host}${path}` : `${scheme}://${host}`;
}

/** From now on the redactor hides what of the destination is secret. */
export function hideDestination(redactor: Redactor, text: string): void {
  redactor.addWhole(text);
  redactor.add(...secretsOfDestination(text));
}

/** Every form in which a secret of the destination may come up in a message; of what cannot be read for sure, all of it. */
function secretsOfDestination(text: string): string[] {
  const parsed = parseDestination(text);
  if (parsed === undefined || isAmbiguous(parsed)) return encodings(text.replace(/^\w+:\/\//, ""));
  const { parameters, userInfo } = parsed;
  const parts = [
    ...parameters.filter(([name, value]) => isSecret(parsed, name, value)).map(([, value]) => value),
    // An unencoded `&` in a credential makes its rest look like a name.
    ...parameters.map(([name]) => name).filter((name) => !isKnownName(parsed, name)),
    ...(userInfo === undefined ? [] : [userInfo, ...userInfo.split(":").slice(1)]),
    ...secretSegments(parsed),
  ];
  return parts.flatMap(encodings).filter((secret) => !/^(true|false|\d{1,4})$/.test(secret));
}

/** What a shared access signature says beside its signature: versions, permissions, times. */
const SAS_PARAMETERS = ["sv", "ss", "sr", "srt", "sp", "se", "st", "spr", "sip", "si"];

const SECRET_NAME = /^header_|key|token|secret|sig|pass|auth|cred/i;

/** Replacing a shorter value, such as `index=main`, would garble every message and hide nothing. */
const LONG_VALUE_CHARACTERS = 8;

/** A name that says so; or a value of a name that says nothing, unless it is as short as ordinary words are. */
function isSecret({ scheme }: ParsedDestination, name: string, value: string): boolean {
  if (NON_SECRET_PARAMETERS.includes(name)) return false;
  if (scheme === "azure" && SAS_PARAMETERS.includes(name)) return false;
  return SECRET_NAME.test(name) || value.length >= LONG_VALUE_CHARACTERS;
}

/** Whether a person wrote the name, so that it may be shown. */
function isKnownName(parsed: ParsedDestination, name: string): boolean {
  return (
    [...NON_SECRET_PARAMETERS, ...SAS_PARAMETERS, ...KEY_PAIR].includes(name) ||
    ownMember(schemeOf(parsed).parameters, name) !== undefined
  );
}

function secretSegments({ scheme, path }: ParsedDestination): string[] {
  if (scheme === "sumo") return path.replace(/^.*?\/http\//, "").split("/");
  return scheme === "https" ? path.split("/").filter(isToken) : [];
}

/** As it is written, decoded, encoded in each of the common ways; and of `Bearer abc` the `abc`. */
function encodings(written: string): string[] {
  const plain = decoded(written);
  const words = plain.split(/\s+/);
  const forms = [written, plain, ...(words.length > 1 ? [words.at(-1) ?? ""] : [])];
  return forms.flatMap((form) => {
    const query = new URLSearchParams([["", form]]).toString().slice(1);
    return [form, query, lowerCased(encodeURIComponent(form)), lowerCased(query)];
  });
}

/** `%2F` as `%2f`. */
function lowerCased(encoded: string): string {
  return encoded.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
}

/** Equal in every part: the order of parameters and their encoding carry no meaning. */
export function sameDestination(a: string, b: string): boolean {
  if (a === b) return true;
  const [left, right] = [parseDestination(a), parseDestination(b)];
  return left !== undefined && right !== undefined && canonical(left) === canonical(right);
}

function canonical(parsed: ParsedDestination): string {
  const { scheme, userInfo, path, parameters } = parsed;
  const sorted = parameters.map(([name, value]) => `${name}=${comparable(name, value)}`).sort();
  return JSON.stringify([scheme, userInfo, hostOf(parsed), trimEnd(path, "/"), sorted]);
}

/** A bucket as it is written; of a host, case and the port that https has anyway carry no meaning. */
function hostOf(parsed: ParsedDestination): string {
  return schemeOf(parsed).place === "bucket" ? parsed.host : plainHost(parsed.host);
}

function plainHost(host: string): string {
  return host.toLowerCase().replace(/:443$/, "");
}

function comparable(name: string, value: string): string {
  return name === "endpoint" ? plainHost(decoded(value)) : decoded(value);
}

/** Whether scheme, host and each folder of the path agree. */
function placesAgree(
  one: ParsedDestination,
  other: ParsedDestination,
  agree: (one: string, other: string) => boolean,
): boolean {
  const [folders, others] = [one, other].map(({ path }) => trimEnd(path, "/").split("/")) as [
    string[],
    string[],
  ];
  return (
    one.scheme === other.scheme &&
    agree(hostOf(one), hostOf(other)) &&
    folders.length === others.length &&
    folders.every((folder, index) => agree(folder, others[index] ?? ""))
  );
}

/**
 * Whether both name one bucket, host and folder: what a proof of ownership is bound to, unlike the credentials. A folder
 * that is hidden in one of them is taken for the other's.
 */
export function samePlace(a: string, b: string): boolean {
  const [left, right] = [parseDestination(a), parseDestination(b)];
  if (left === undefined || right === undefined) return a === b;
  return placesAgree(
    left,
    right,
    (one, other) => one === other || isMaskedAddress(one) || isMaskedAddress(other),
  );
}

/**
 * Whether what Cloudflare shows can be the declared destination. It may hide a credential, or leave parameters out; what
 * it does show has to be as declared.
 */
export function agreesWith(declared: string, shown: string | null | undefined): boolean {
  if (shown === undefined || shown === null || shown === "") return true;
  const [wanted, found] = [parseDestination(declared), parseDestination(shown)];
  // A mask within an address hides that part of it, and not the rest.
  if (wanted === undefined || found === undefined) return declared === shown || isMasked(shown);
  const agrees = (one: string, seen: string, mask = isMaskedAddress): boolean =>
    mask(seen) || decoded(one) === decoded(seen);
  return (
    placesAgree(wanted, found, (one, seen) => agrees(one, seen)) &&
    (found.userInfo === undefined || agrees(wanted.userInfo ?? "", found.userInfo, isMasked)) &&
    found.parameters.every(([name, seen]) => {
      const mask = NON_SECRET_PARAMETERS.includes(name) ? isMaskedAddress : isMasked;
      return wanted.parameters.some(
        ([each, value]) =>
          each === name && (seen === "" || agrees(comparable(name, value), comparable(name, seen), mask)),
      );
    })
  );
}

/** Whether `shown` is the destination with every part of it, of which some credentials may be hidden. */
export function isShownAs(declared: string, shown: string): boolean {
  if (sameDestination(declared, shown)) return true;
  const [wanted, found] = [parseDestination(declared), parseDestination(shown)];
  return (
    wanted !== undefined &&
    wanted.parameters.length === found?.parameters.length &&
    (wanted.userInfo === undefined) === (found.userInfo === undefined) &&
    agreesWith(declared, shown)
  );
}

/** Whether Cloudflare has hidden a credential of it. */
export function hidesCredentials(text: string): boolean {
  const parsed = parseDestination(text);
  if (parsed === undefined) return isMasked(text);
  const { userInfo = "", parameters } = parsed;
  return [...userInfo.split(":"), ...parameters.map(([, value]) => value)].some(
    (part) => part !== "" && isMasked(part),
  );
}
