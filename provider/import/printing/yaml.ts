import { Document, Pair, Scalar, YAMLMap, YAMLSeq, type Node } from "yaml";
import { escapeReferences } from "../../basics/code";
import { INVISIBLE, visible } from "../../basics/printable";
import type { Code, Member } from "../code";
import type { IdConstant, UsedSecret } from "../draft";
import { setCommand, type Declaration, type Program } from "../program";
import { commented, CREDENTIALS, header } from "./comments";

/** Prints a program for Pulumi's YAML runtime. */
export function yamlProgram({ secrets, ids, resources, leftOut }: Program): string {
  const sections = [
    ...section("config", secrets.map(configEntry), CREDENTIALS),
    ...section("variables", ids.flatMap(idEntries)),
    ...section("resources", spaced(resources.map(resourceEntry))),
  ];
  const document = new Document(map(spaced(sections)), { compat: "yaml-1.1" }); // What Pulumi's parser reads.
  document.commentBefore = commented(" ", ...header("its key"));
  if (leftOut.length > 0) document.comment = commented(" ", ...leftOut);
  // Invisible characters are only inside double quotes: see `scalar`.
  return visible(document.toString({ lineWidth: 0 }));
}

type Entry = Pair<Scalar, Node>;

function section(name: string, entries: readonly Entry[], ...comments: readonly string[]): Entry[] {
  return entries.length === 0 ? [] : [pair(name, map(entries), ...comments)];
}

/** Separates entries by blank lines. */
function spaced(entries: readonly Entry[]): readonly Entry[] {
  for (const { key } of entries.slice(1)) key.spaceBefore = true;
  return entries;
}

function configEntry({ key, meaning }: UsedSecret): Entry {
  const entry = map([pair("type", scalar("string")), pair("secret", new Scalar(true))]);
  return pair(key, entry, meaning, setCommand(key));
}

/** Returns the variables for IDs: `zoneId: …`, or `zones:` for several zones. */
function idEntries(used: readonly IdConstant[]): Entry[] {
  const entries = used.map(({ variable, member, id, comment }) => {
    const value = scalar(id);
    if (comment !== undefined) value.comment = ` ${comment}`;
    return pair(member ?? variable, value);
  });
  const [first] = used;
  return first?.member === undefined ? entries : [pair(first.variable, map(entries))];
}

function resourceEntry({ type, name, args, comment }: Declaration): Entry {
  const token = scalar(`edgeguard:${type}`); // Short for `edgeguard:index:…`.
  return pair(name, map([pair("type", token), pair("properties", nodeOf(args))]), comment);
}

function nodeOf({ form }: Code): Node {
  switch (form.kind) {
    case "data":
      return typeof form.data === "string" ? scalar(escapeReferences(form.data)) : new Scalar(form.data);
    case "reference":
      return scalar(`\${${form.to}}`);
    case "secret":
      return scalar(`\${${form.key}}`);
    case "json":
      return map([pair("fn::toJSON", nodeOf(form.document))]);
    case "list": {
      const list = new YAMLSeq<Node>();
      for (const { code, comment } of form.items) {
        const node = nodeOf(code);
        if (comment !== undefined) node.commentBefore = commented(" ", comment);
        list.items.push(node);
      }
      return list;
    }
    case "object":
      return map(form.members.map(memberEntry));
    case "call":
      throw new Error(`YAML has no function ${form.callee}`);
  }
}

function memberEntry({ name, code, comment }: Member): Entry {
  return pair(escapeReferences(name), nodeOf(code), comment);
}

function map(entries: readonly Entry[]): YAMLMap {
  const result = new YAMLMap<Scalar, Node>();
  result.items.push(...entries);
  return result;
}

/** @param comments the comments to print above the property. Undefined ones are left out. */
function pair(name: string, value: Node, ...comments: readonly (string | undefined)[]): Entry {
  const key = scalar(name);
  const above = comments.filter((comment) => comment !== undefined);
  if (above.length > 0) key.commentBefore = commented(" ", ...above);
  return new Pair(key, value);
}

function scalar(text: string): Scalar<string> {
  const result = new Scalar(text);
  if (text.replaceAll("\n", "").search(INVISIBLE) !== -1) result.type = Scalar.QUOTE_DOUBLE;
  return result;
}
