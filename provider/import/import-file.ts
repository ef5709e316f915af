import { forwarder } from "../runtime/forwarder";
import type { JsonObject } from "../runtime/values";
import { setCommand } from "./program";
import type { Settled } from "./settle";

/** Type of every resource of this package, before its own name. */
const TYPE_PREFIX = "pulumi-nodejs:dynamic/edgeguard:";

/** The member by which the engine's file formats tell a special value, and what it says for a secret. */
const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

/**
 * The file for `pulumi import --file`. With inputs and outputs in it, both with the provider's text, the CLI (3.254 and
 * later) asks no provider to read, which a dynamic one could not: it records what stands here.
 */
export function importFile(settled: readonly Settled[]): string {
  const resources = settled.map(({ found, name, inputs, outputs }) => {
    const { type, secret } = found.resource;
    const state = (bag: JsonObject): JsonObject => ({
      ...withSecrets(bag, secret),
      __provider: forwarder(type),
    });
    return { type: TYPE_PREFIX + type, name, id: found.id, inputs: state(inputs), outputs: state(outputs) };
  });
  return `${JSON.stringify({ resources }, null, 2)}\n`;
}

/** Encrypted in the state, in this file they are plain. */
function withSecrets(bag: JsonObject, secret: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(bag).map(([key, value]) => [
      key,
      secret.includes(key) && value !== undefined
        ? { [SIGNATURE]: SECRET, plaintext: JSON.stringify(value) }
        : value,
    ]),
  );
}

/** A script that sets the credentials that Cloudflare shows; undefined where it shows none. */
export function configScript(settled: readonly Settled[]): string | undefined {
  const shown = settled.flatMap(({ secrets }) => secrets).filter(({ isShown }) => isShown);
  if (shown.length === 0) return undefined;
  const commands = shown.map(({ key, value, meaning }) => {
    const lines = value.split("\n");
    let end = "VALUE";
    while (lines.includes(end)) end += "_";
    return `# ${meaning}\n${setCommand(key)} <<'${end}'\n${value}\n${end}\n`; // By stdin: arguments are there for all to see.
  });
  return ["#!/bin/sh\nset -e\n", ...commands].join("\n");
}
