import { visible } from "../basics/printable";
import { forwarder } from "../runtime/forwarder";
import { WIRE_SECRET } from "../runtime/engine-values";
import { TYPE_PREFIXES, type Surface } from "../runtime/type-tokens";
import type { JsonObject } from "../basics/json";
import { setCommand } from "./program";
import type { Verified } from "./verify";

/**
 * Writes the file for `pulumi import --file`. It contains inputs and outputs, so that the CLI (3.254 and later) records
 * them without a read by the provider. A dynamic provider can't read during an import, and no provider can read which
 * entries of a namespace a resource owns, or credentials that Cloudflare hides.
 */
export function importFile(surface: Surface, verified: readonly Verified[]): string {
  const resources = verified.map(({ found, name, inputs, outputs }) => {
    const { type, secret } = found.resource;
    const state = (bag: JsonObject): JsonObject => ({
      ...withSecrets(bag, secret),
      ...(surface === "dynamic" ? { __provider: forwarder(type) } : {}),
    });
    return {
      type: TYPE_PREFIXES[surface] + type,
      name,
      id: found.id,
      inputs: state(inputs),
      outputs: state(outputs),
    };
  });
  return `${visible(JSON.stringify({ resources }, null, 2))}\n`;
}

/** Marks values as secrets. They're plain text in this file and encrypted in the state. */
function withSecrets(bag: JsonObject, secret: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(bag).map(([key, value]) => [
      key,
      secret.includes(key) && value !== undefined
        ? { [WIRE_SECRET.member]: WIRE_SECRET.mark, plaintext: JSON.stringify(value) }
        : value,
    ]),
  );
}

/** Returns a script that sets the credentials that Cloudflare shows. Undefined if it doesn't show any. */
export function configScript(verified: readonly Verified[]): string | undefined {
  const shown = verified.flatMap(({ secrets }) => secrets).filter(({ isShown }) => isShown);
  if (shown.length === 0) return undefined;
  const commands = shown.map(({ key, value, meaning }) => {
    const lines = value.split("\n");
    let end = "VALUE";
    while (lines.includes(end)) end += "_";
    return `# ${meaning}\n${setCommand(key)} <<'${end}'\n${value}\n${end}\n`; // On stdin, because other users can see arguments.
  });
  return ["#!/bin/sh\nset -e\n", ...commands].join("\n");
}
