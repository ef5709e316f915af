import { EVERYDAY_WORD, type Redactor } from "../api/redact";
import { LOGPUSH } from "../limits/index";
import { distance } from "../basics/nearest";
import { compareText } from "../basics/words";
import { ownMember } from "../basics/json";
import { decoded } from "../basics/url";
import {
  encodedFolder,
  isMasked,
  isMaskedAddress,
  isSignatureDetail,
  isToken,
  KEY_PAIR,
  kindOfParameter,
  parseDestination,
  SCHEME_NAMES,
  schemeOf,
  valueOf,
  type ParsedDestination,
} from "./destination-schemes";

/**
 * Checks destination strings, finds their secret parts, and compares destinations whose secrets are hidden. No message
 * here contains a part that may be secret.
 */

/** A bucket, a host, or a host with its port. */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/**
 * Whether a user name or password may contain an unencoded `/`, `?` or `&`. If so, the string can't be split reliably,
 * and no part of it may be shown. An `@` in the path or query is a sign of this, because a correct destination has %40
 * there.
 */
export function isAmbiguous({ host, path, parameters }: ParsedDestination): boolean {
  return (host !== "" && !HOST.test(host)) || [path, ...parameters.flat()].some((part) => part.includes("@"));
}

export interface DestinationProblem {
  /** The builder's argument that causes the problem, if there is one. */
  readonly member?: string | undefined;
  /** The rest of the message, after the property's path. */
  readonly reason: string;
}

/** @param fromBuilder whether a builder wrote the string. If so, the problems name the builder's arguments. */
export function destinationProblems(text: string, fromBuilder = false): readonly DestinationProblem[] {
  if (text.length > LOGPUSH.MAX_DESTINATION_CHARACTERS) {
    const reason = `must be at most ${LOGPUSH.MAX_DESTINATION_CHARACTERS} characters, not ${text.length}`;
    return [{ reason }];
  }
  const parsed = parseDestination(text);
  if (parsed === undefined) {
    const reason = unreadableProblem(text);
    return reason === undefined ? [] : [{ reason }];
  }
  const { parameters, path: required } = schemeOf(parsed);
  const reasons = [
    spaceProblem(parsed, text),
    /<[^>]*>/.test(text) && "contains a <…> placeholder from the docs. Replace it with your own value",
    ...missingProblems(parsed, fromBuilder),
    duplicateProblem(parsed),
    placeholderProblem(parsed),
    required?.form.test(parsed.host + parsed.path) === false && required.problem,
  ];
  return [
    ...hostProblems(parsed, fromBuilder),
    ...reasons.filter((reason) => typeof reason === "string").map((reason) => ({ reason })),
    ...Object.entries(parameters).flatMap(([name, { member, problem }]) => {
      const value = valueOf(parsed, name);
      const reason = value !== undefined && problem?.(value);
      if (typeof reason !== "string") return [];
      return [fromBuilder ? { member, reason } : { reason: `"${name}" ${reason}` }];
    }),
  ];
}

function hostProblems(parsed: ParsedDestination, fromBuilder: boolean): readonly DestinationProblem[] {
  const { scheme, host } = parsed;
  const { hostIs } = schemeOf(parsed);
  if (host === "") return [{ reason: `has no ${hostIs ?? "host"} after ${scheme}://` }];
  // Placeholders, and white space in anything but a name, are already reported as other problems.
  if (HOST.test(host.replace(hostIs === undefined ? /[\s<>{}]/g : /[<>{}]/g, ""))) return [];
  if (hostIs !== undefined) {
    const reason = 'has invalid characters. Use letters, digits, ".", "-" and "_"';
    return fromBuilder && hostIs === "bucket name"
      ? [{ member: "bucket", reason }]
      : [{ reason: `the ${hostIs} ${reason}` }];
  }
  const reason =
    "has an invalid host. Use host or host:port, after user:password@ if there is one. In a password, write @ / ? # as %40 %2F %3F %23";
  return [{ reason }];
}

const MOST_MISSPELT_LETTERS = 2;

function spaceProblem(parsed: ParsedDestination, text: string): string | false {
  const isReported = schemeOf(parsed).hostIs !== undefined && /\s/.test(parsed.host);
  return !isReported && /\s/.test(text) && "contains whitespace. Write it as %20";
}

/** Returns what's wrong with a destination that can't be parsed. Undefined if its scheme may be a new one. */
function unreadableProblem(text: string): string | undefined {
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\/[^\s/]/i.exec(text) ?? [];
  if (scheme === undefined || SCHEME_NAMES.includes(scheme.toLowerCase())) {
    return "must be a URL such as s3://bucket/path (secret value not shown)";
  }
  if (scheme.toLowerCase() === "http")
    return "starts with http://, but Logpush only pushes to https://. Use https://";
  const near = SCHEME_NAMES.find((name) => distance(scheme.toLowerCase(), name) <= MOST_MISSPELT_LETTERS);
  return near && `has a scheme that Logpush doesn't support. Did you mean ${near}://?`;
}

/**
 * Reports missing parameters: the scheme's required ones, and the access keys if the storage isn't Amazon S3 or only
 * one key is given.
 */
function missingProblems(parsed: ParsedDestination, fromBuilder: boolean): readonly string[] {
  const { parameters } = schemeOf(parsed);
  const needsKeys = ["endpoint", ...KEY_PAIR].some(
    (name) => Object.hasOwn(parameters, name) && valueOf(parsed, name) !== undefined,
  );
  const missing = Object.entries(parameters)
    .filter(([name, { required }]) => required === true || (needsKeys && KEY_PAIR.includes(name)))
    .filter(([name]) => (valueOf(parsed, name) ?? "") === "");
  if (missing.length === 0) return [];
  const members = missing.map(([, { member }]) => member);
  if (fromBuilder && members.every((member) => member !== undefined)) {
    return [
      `is missing ${members.join(" and ")}. Set both accessKeyId and secretAccessKey, or neither; an endpoint requires both`,
    ];
  }
  const names = missing.map(([name]) => JSON.stringify(name)).join(", ");
  const query = missing.map(([name]) => `${name}=…`).join("&");
  const what = missing.length === 1 ? "a query parameter" : "query parameters";
  return [`is missing ${what} that ${parsed.scheme}:// requires: ${names}. Add ${query}`];
}

function duplicateProblem(parsed: ParsedDestination): string | false {
  const names = parsed.parameters.map(([name]) => name);
  const twice = names.find((name, index) => parsed.scheme !== "https" && names.indexOf(name) !== index);
  if (twice === undefined) return false;
  return `has ${isKnownName(parsed, twice) ? `the parameter "${twice}"` : "a parameter"} twice. Remove one`;
}

function placeholderProblem(parsed: ParsedDestination): string | false {
  const { scheme, host, path, parameters } = parsed;
  const inPath = path.match(/\{[^}]*\}?/g) ?? [];
  if (inPath.some((word) => word !== "{DATE}"))
    return "has a placeholder in its path that Cloudflare doesn't replace. Use {DATE}, the only supported placeholder";
  if (inPath.length > 0 && schemeOf(parsed).supportsDate !== true)
    return `has {DATE} in its path, but Cloudflare replaces it only for s3, r2, gs and azure, not for ${scheme}. Remove it`;
  const isElsewhere = [host, ...parameters.map(([, value]) => value)].some((part) => /\{[^}]*\}/.test(part));
  return (
    isElsewhere &&
    "has a placeholder outside its path. Cloudflare replaces {DATE} only in the path. Move or remove it"
  );
}

/** Whether Cloudflare always requires an ownership token for the destination. */
export function needsProof(text: string): boolean {
  const parsed = parseDestination(text);
  if (parsed === undefined) return false;
  const { proof } = schemeOf(parsed);
  if (proof !== "unless keys") return proof === "always";
  return !KEY_PAIR.every((name) => (valueOf(parsed, name) ?? "") !== "");
}

const HIDDEN_DESTINATION = "a hidden destination";
const HIDDEN_PART = "[secret]";
const MASK = "****";

/**
 * Returns the destination's location in canonical form, without credentials: `s3://bucket/path?region=eu-west-1`.
 * `[secret]` stands for a part of the location that may contain a credential.
 */
export function shownDestination(text: string): string {
  const parsed = parseDestination(text);
  if (parsed === undefined || isAmbiguous(parsed)) return HIDDEN_DESTINATION;
  const secret = secretSegments(parsed);
  const folders = foldersOf(parsed).map((folder) =>
    secret.includes(folder) || isMaskedAddress(folder) ? HIDDEN_PART : encodedFolder(decoded(folder)),
  );
  const isShown = ([name, value]: readonly [string, string]): boolean =>
    kindOfParameter(parsed, name) === "location" && !isMaskedAddress(value);
  const parameters = placeParameters(parsed);
  const query = [
    ...parameters.filter(isShown).map(([name, value]) => `${name}=${encodedFolder(value)}`),
    // The name of an unknown parameter may be the rest of a credential that contains an unencoded `&`.
    ...parameters.filter((each) => !isShown(each)).map(() => HIDDEN_PART),
  ];
  const place = [hostOf(parsed), ...folders].join("/");
  return `${parsed.scheme}://${place}${query.length === 0 ? "" : `?${query.join("&")}`}`;
}

/** Whether `shown`, which `shownDestination` returned, is the whole location: nothing of it is hidden. */
export function showsWholeLocation(shown: string): boolean {
  return shown !== HIDDEN_DESTINATION && !shown.includes(HIDDEN_PART);
}

/** Registers the destination's secret parts with the redactor. */
export function hideDestination(redactor: Redactor, text: string): void {
  if (text !== shownDestination(text)) redactor.add(text); // Otherwise, nothing of it is secret.
  redactor.add(...secretsOfDestination(text));
}

/**
 * Returns the destination with a mask for each part that may be secret. It's the same destination to `isShownAs`.
 * Undefined if it isn't clear which parts are secret.
 */
export function maskedDestination(text: string): string | undefined {
  const parsed = parseDestination(text);
  if (parsed === undefined || isAmbiguous(parsed)) return undefined;
  const { scheme, userInfo, host, path, parameters } = parsed;
  const isOpen = (name: string): boolean => kindOfParameter(parsed, name) === "location";
  // An unknown name may be the rest of a credential that contains an unencoded `&`.
  if (parameters.some(([name]) => kindOfParameter(parsed, name) === "unknown")) return undefined;
  const secret = secretSegments(parsed);
  const folders = path.split("/").map((folder) => (folder !== "" && secret.includes(folder) ? MASK : folder));
  const query = parameters.map(([name, value]) => `${name}=${value === "" || isOpen(name) ? value : MASK}`);
  const user = userInfo === undefined ? "" : `${MASK}@`;
  return `${scheme}://${user}${host}${folders.join("/")}${query.length === 0 ? "" : `?${query.join("&")}`}`;
}

/**
 * Returns the destination's secrets, as written and decoded. If the destination can't be
 * parsed reliably, each part of it counts as secret.
 */
function secretsOfDestination(text: string): string[] {
  const parsed = parseDestination(text);
  if (parsed === undefined || isAmbiguous(parsed))
    return text
      .replace(/^\w+:\/\//, "")
      .split(/[/?&=@:#]+/)
      .flatMap(spellings);
  const { parameters, userInfo } = parsed;
  const parts = [
    ...parameters.filter(([name, value]) => isSecret(parsed, name, value)).map(([, value]) => value),
    // If a credential contains an unencoded `&`, the rest of it looks like a name.
    ...parameters.map(([name]) => name).filter((name) => !isKnownName(parsed, name)),
    ...(userInfo === undefined ? [] : [userInfo, ...userInfo.split(":").slice(1)]),
    ...secretSegments(parsed),
  ];
  return parts.flatMap(spellings).filter((secret) => !/^(true|false|\d{1,4})$/.test(secret));
}

/** Whether nobody can guess all of the destination's secrets. */
export function hasLongSecret(text: string): boolean {
  return !hidesCredentials(text) && secretsOfDestination(text).some((secret) => secret.length >= 16);
}

const SECRET_NAME = /^header_|key|token|secret|sig|pass|auth|cred/i;

/**
 * The minimum length at which the value of an unknown parameter is hidden. Hiding shorter values, such as
 * `index=main`, would garble messages and protect nothing.
 */
const LONG_VALUE_CHARACTERS = 8;

/** Whether a parameter may be secret, judging by its name or, if the name doesn't say, by the value's length. */
function isSecret(parsed: ParsedDestination, name: string, value: string): boolean {
  if (kindOfParameter(parsed, name) === "location" || isSignatureDetail(parsed, name)) return false;
  return SECRET_NAME.test(name) || value.length >= LONG_VALUE_CHARACTERS;
}

/** Whether the parameter's name is documented. If so, it isn't part of a credential and may be shown. */
function isKnownName(parsed: ParsedDestination, name: string): boolean {
  return ownMember(schemeOf(parsed).parameters, name) !== undefined || isSignatureDetail(parsed, name);
}

function foldersOf({ path }: ParsedDestination): readonly string[] {
  return path.split("/").slice(1);
}

function secretSegments(parsed: ParsedDestination): readonly string[] {
  if (parsed.scheme === "sumo") return parsed.path.replace(/^.*?\/http\//, "").split("/");
  return schemeOf(parsed).place === "endpoint" ? foldersOf(parsed).filter(isToken) : [];
}

/** Returns the parameters that aren't part of a credential, decoded and in canonical order. `false` is a flag's default. */
function locationParameters(parsed: ParsedDestination): ParsedDestination["parameters"] {
  const { parameters } = schemeOf(parsed);
  return parsed.parameters
    .filter(([name]) => kindOfParameter(parsed, name) !== "credential")
    .map(([name, value]) => [name, comparable(name, value)] as const)
    .filter(([name, value]) => value !== "false" || ownMember(parameters, name)?.flag !== true)
    .sort(([a, one], [b, other]) => compareText(a, b) || compareText(one, other));
}

/**
 * Returns the parameters that say where the logs go, and whose they are there: the host of an endpoint belongs to many
 * customers, and its credential names one of them. A bucket belongs to one customer, whatever the credential.
 */
function placeParameters(parsed: ParsedDestination): ParsedDestination["parameters"] {
  if (schemeOf(parsed).place === "bucket") return locationParameters(parsed);
  const { parameters, userInfo = "" } = parsed;
  const credentials = parameters.filter(([name]) => kindOfParameter(parsed, name) === "credential");
  const user = userInfo === "" ? [] : [["", userInfo] as const];
  return [
    ...locationParameters(parsed),
    ...[...credentials, ...user].map(([name, value]) => [name, decoded(value)] as const).sort(),
  ];
}

/** Returns the text as written and decoded. For `Bearer abc-123` and `base64:abc-123`, also `abc-123` alone. */
function spellings(written: string): string[] {
  const all = [written, decoded(written)];
  // A word such as "bucket" is no token, and is in the messages.
  const last = all
    .flatMap((text) => /(?:\s|^(?:base64|url):)(\S+)$/.exec(text)?.[1] ?? [])
    .filter((word) => !EVERYDAY_WORD.test(word));
  return [...all, ...last];
}

/** Whether two destinations are equal. The order and encoding of their parameters don't matter. */
export function sameDestination(a: string, b: string): boolean {
  if (a === b) return true;
  const [left, right] = [parseDestination(a), parseDestination(b)];
  return left !== undefined && right !== undefined && canonical(left) === canonical(right);
}

function canonical(parsed: ParsedDestination): string {
  const { scheme, userInfo, path, parameters } = parsed;
  const sorted = parameters.map(([name, value]) => `${name}=${comparable(name, value)}`).sort();
  return JSON.stringify([scheme, userInfo, hostOf(parsed), path, sorted]);
}

/** Returns a hostname in lower case and without port 443. A bucket name stays as written. */
function hostOf(parsed: ParsedDestination): string {
  return schemeOf(parsed).place === "bucket" ? parsed.host : plainHost(parsed.host);
}

function plainHost(host: string): string {
  return host.toLowerCase().replace(/:443$/, "");
}

function comparable(name: string, value: string): string {
  return name === "endpoint" ? plainHost(decoded(value)) : decoded(value);
}

/** Whether the schemes, hosts and paths of two destinations match. */
function addressesAgree(
  one: ParsedDestination,
  other: ParsedDestination,
  agree: (one: string, other: string) => boolean,
): boolean {
  const [folders, others] = [foldersOf(one), foldersOf(other)];
  return (
    one.scheme === other.scheme &&
    agree(hostOf(one), hostOf(other)) &&
    folders.length === others.length &&
    folders.every((folder, index) => agree(folder, others[index] ?? ""))
  );
}

/** Whether two parts of an address are equal. A mask matches anything. */
const matches = (one: string, other: string): boolean =>
  decoded(one) === decoded(other) || isMaskedAddress(one) || isMaskedAddress(other);

/**
 * Whether two destinations have the same bucket or host, and the same path. An ownership token is bound only to these,
 * so other parameters need no new token.
 */
export function sameAddress(a: string, b: string): boolean {
  const [left, right] = [parseDestination(a), parseDestination(b)];
  if (left === undefined || right === undefined) return a === b;
  return addressesAgree(left, right, matches);
}

/**
 * Whether two destinations are the same location, and the same recipient there. Only a bucket's credentials may differ.
 * A masked credential of an endpoint may be anyone's.
 */
export function samePlace(a: string, b: string): boolean {
  const [left, right] = [parseDestination(a), parseDestination(b)];
  if (left === undefined || right === undefined) return a === b;
  const [ones, others] = [placeParameters(left), placeParameters(right)];
  const agree = (name: string, one: string, other: string): boolean =>
    kindOfParameter(left, name) === "location" ? matches(one, other) : one === other;
  return (
    addressesAgree(left, right, matches) &&
    ones.length === others.length &&
    ones.every(([name, value], index) => {
      const [its = "", itsValue = ""] = others[index] ?? [];
      return name === its && agree(name, value, itsValue);
    })
  );
}

/**
 * Whether the destination that Cloudflare returns can be the declared one. Cloudflare may mask or omit credentials, or
 * omit all parameters, but everything else must match.
 */
export function agreesWith(declared: string, shown: string | null | undefined): boolean {
  if (shown === undefined || shown === null || shown === "") return true;
  const [wanted, found] = [parseDestination(declared), parseDestination(shown)];
  // A mask inside an address hides only that part of it.
  if (wanted === undefined || found === undefined) return declared === shown || isMasked(shown);
  const agrees = (one: string, seen: string, mask = isMaskedAddress): boolean =>
    mask(seen) || decoded(one) === decoded(seen);
  return (
    addressesAgree(wanted, found, (one, seen) => agrees(one, seen)) &&
    (found.parameters.length === 0 ||
      locationParameters(wanted).every(([name]) => valueOf(found, name) !== undefined)) &&
    (found.userInfo === undefined || agrees(wanted.userInfo ?? "", found.userInfo, isMasked)) &&
    found.parameters.every(([name, seen]) => {
      const mask = kindOfParameter(wanted, name) === "location" ? isMaskedAddress : isMasked;
      return wanted.parameters.some(
        ([each, value]) =>
          each === name && (seen === "" || agrees(comparable(name, value), comparable(name, seen), mask)),
      );
    })
  );
}

/** Whether `shown` is the declared destination with all its parameters. Its credentials may be masked. */
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

/** Whether Cloudflare has hidden a credential in the destination. */
export function hidesCredentials(text: string): boolean {
  const parsed = parseDestination(text);
  if (parsed === undefined) return isMasked(text);
  const { userInfo = "", parameters } = parsed;
  return [...userInfo.split(":"), ...parameters.map(([, value]) => value)].some(
    (part) => part !== "" && isMasked(part),
  );
}

/** Whether two destinations differ only in what `destinationShown` hides. A mask of Cloudflare's matches anything. */
export function differsInHidden(found: string, recorded: string): boolean {
  return (
    shownDestination(found) === shownDestination(recorded) &&
    !isShownAs(found, recorded) &&
    !isShownAs(recorded, found)
  );
}
