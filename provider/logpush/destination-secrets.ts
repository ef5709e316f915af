import type { Redactor } from "../api/redact";
import { trimEnd } from "../api/trim";
import {
  isAmbiguous,
  KEY_PAIR,
  parseDestination,
  schemeOf,
  type ParsedDestination,
} from "./destination-parse";

/** What of a destination is secret, what may be shown, and how two of them compare where secrets are hidden. */

/** Parameters that hold no credential, whatever the scheme. */
const HARMLESS = [
  "region",
  "sse",
  "endpoint",
  "account-id",
  "channel",
  "sourcetype",
  "insecure-skip-verify",
  "ddsource",
  "service",
  "host",
  "ddtags",
  "tags",
  "format",
  "sts-assume-role-arn",
];

/** What a shared access signature says beside its signature: versions, permissions, times. */
const HARMLESS_IN_SIGNATURE = ["sv", "ss", "sr", "srt", "sp", "se", "st", "spr", "sip", "si"];

const SECRET_NAME = /^header_|key|token|secret|sig|pass|auth|cred/i;

/** Replacing a shorter value, such as `index=main`, would garble every message and hide nothing. */
const LONG_VALUE_CHARACTERS = 8;

/** A folder of an address that nobody would write by hand. */
const TOKEN_CHARACTERS = 16;

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
  if (parsed === undefined || isAmbiguous(parsed)) return spellings(text.replace(/^\w+:\/\//, ""));
  const { parameters, userInfo } = parsed;
  const parts = [
    ...parameters.filter(([name, value]) => isSecret(parsed, name, value)).map(([, value]) => value),
    // An unencoded `&` in a credential makes its rest look like a name.
    ...parameters.map(([name]) => name).filter((name) => !isKnownName(parsed, name)),
    ...(userInfo === undefined ? [] : [userInfo, ...userInfo.split(":").slice(1)]),
    ...secretFolders(parsed),
  ];
  return parts.flatMap(spellings).filter((secret) => !/^(true|false|\d{1,4})$/.test(secret));
}

/** A name that says so; or a value of a name that says nothing, unless it is as short as ordinary words are. */
function isSecret({ scheme }: ParsedDestination, name: string, value: string): boolean {
  if (HARMLESS.includes(name)) return false;
  if (scheme === "azure" && HARMLESS_IN_SIGNATURE.includes(name)) return false;
  return SECRET_NAME.test(name) || value.length >= LONG_VALUE_CHARACTERS;
}

function isKnownName(parsed: ParsedDestination, name: string): boolean {
  return [...HARMLESS, ...HARMLESS_IN_SIGNATURE, ...KEY_PAIR, ...schemeOf(parsed).required].includes(name);
}

function secretFolders({ scheme, path }: ParsedDestination): string[] {
  if (scheme === "sumo") return path.replace(/^.*?\/http\//, "").split("/");
  return scheme === "https" ? path.split("/").filter((folder) => folder.length >= TOKEN_CHARACTERS) : [];
}

/** As it is written, decoded, encoded in each of the common ways; and of `Bearer abc` the `abc`. */
function spellings(written: string): string[] {
  const plain = decoded(written);
  const words = plain.split(/\s+/);
  const forms = [written, plain, ...(words.length > 1 ? [words.at(-1) ?? ""] : [])];
  return forms.flatMap((form) => {
    const encoded = encodeURIComponent(form);
    const query = new URLSearchParams([["", form]]).toString().slice(1);
    return [form, query, lowerCased(encoded), lowerCased(query)];
  });
}

/** `%2F` as `%2f`. */
function lowerCased(encoded: string): string {
  return encoded.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A percent sign that encodes nothing: compared and shown as it is.
  }
}

/** Equal in every part: the order of parameters and their encoding carry no meaning. */
export function sameDestination(a: string, b: string): boolean {
  if (a === b) return true;
  const [left, right] = [parseDestination(a), parseDestination(b)];
  return left !== undefined && right !== undefined && normal(left) === normal(right);
}

function normal(parsed: ParsedDestination): string {
  const { scheme, userInfo, path, parameters } = parsed;
  const sorted = parameters.map(([name, value]) => `${name}=${comparable(name, value)}`).sort();
  return JSON.stringify([scheme, userInfo, hostOf(parsed), trimmed(path), sorted]);
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

/**
 * Whether what the service shows can be the declared destination. It may hide a credential, or leave parameters out; what
 * it does show has to be as declared.
 */
export function agreesWith(declared: string, shown: string | null | undefined): boolean {
  if (shown === undefined || shown === null || shown === "") return true;
  const [own, found] = [parseDestination(declared), parseDestination(shown)];
  // A mask within an address hides that part of it, and not the rest.
  if (own === undefined || found === undefined) return declared === shown || isMasked(shown);
  const agrees = (wanted: string, seen: string, mask = isMaskedAddress): boolean =>
    mask(seen) || decoded(wanted) === decoded(seen);
  const [folders, seenFolders] = [trimmed(own.path).split("/"), trimmed(found.path).split("/")];
  return (
    own.scheme === found.scheme &&
    agrees(hostOf(own), hostOf(found)) &&
    (found.userInfo === undefined || agrees(own.userInfo ?? "", found.userInfo, isMasked)) &&
    folders.length === seenFolders.length &&
    folders.every((folder, index) => agrees(folder, seenFolders[index] ?? "")) &&
    found.parameters.every(([name, seen]) => {
      const wanted = own.parameters.filter(([each]) => each === name).map(([, value]) => value);
      const mask = HARMLESS.includes(name) ? isMaskedAddress : isMasked;
      return wanted.some(
        (value) => seen === "" || agrees(comparable(name, value), comparable(name, seen), mask),
      );
    })
  );
}

/** Whether `shown` is the destination with every part of it, of which some credentials may be hidden. */
export function isShownAs(declared: string, shown: string): boolean {
  if (sameDestination(declared, shown)) return true;
  const [own, found] = [parseDestination(declared), parseDestination(shown)];
  return (
    own !== undefined &&
    own.parameters.length === found?.parameters.length &&
    (own.userInfo === undefined) === (found.userInfo === undefined) &&
    agreesWith(declared, shown)
  );
}

/** What services put in the place of a credential that they do not show: signs, or a word for it and nothing else. */
export function isMasked(text: string): boolean {
  return isMaskedAddress(text) || /^x{4,}$|^[<[({]?(redacted|masked|hidden)[>\])}]?$/i.test(decoded(text));
}

/** Of a part that people name themselves, such as a folder: a word may be its name, and only signs are none. */
function isMaskedAddress(text: string): boolean {
  return /^[*•.]+$|\*{3}|•{3}/.test(decoded(text));
}

/** Whether a credential of it has been hidden by the service. */
export function hidesCredentials(text: string): boolean {
  const parsed = parseDestination(text);
  if (parsed === undefined) return isMasked(text);
  const { userInfo = "", parameters } = parsed;
  return [...userInfo.split(":"), ...parameters.map(([, value]) => value)].some(
    (part) => part !== "" && isMasked(part),
  );
}

function trimmed(path: string): string {
  return trimEnd(path, "/");
}

/**
 * Whether both name one bucket, host and folder: what a proof of ownership is bound to, unlike the credentials. A folder
 * that is hidden in one of them is taken for the other's.
 */
export function samePlace(a: string, b: string): boolean {
  const [left, right] = [parseDestination(a), parseDestination(b)];
  if (left === undefined || right === undefined) return a === b;
  const agree = (one: string, other: string): boolean =>
    one === other || isMaskedAddress(one) || isMaskedAddress(other);
  const [folders, others] = [trimmed(left.path).split("/"), trimmed(right.path).split("/")];
  return (
    left.scheme === right.scheme &&
    agree(hostOf(left), hostOf(right)) &&
    folders.length === others.length &&
    folders.every((folder, index) => agree(folder, others[index] ?? ""))
  );
}
