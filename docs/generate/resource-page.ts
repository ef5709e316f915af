import { RESOURCE_PERMISSIONS, type RequiredPermission } from "../../provider/api/permissions";
import type { Mistake, Played, ResourceName } from "../../tests/messages/mistakes";
import {
  block,
  code,
  firstSentence,
  kebab,
  lines,
  list,
  literal,
  quote,
  section,
  table,
  type Page,
} from "./markdown";
import type { LifecycleFacts } from "./lifecycles";
import type { Item, Member, Model } from "./model";
import { broken, defaultOf, examples, seen, type Links } from "./reference";

export interface ResourceInput {
  readonly name: ResourceName;
  readonly lifecycle: LifecycleFacts;
  readonly requests: readonly (readonly [step: string, requests: readonly string[]])[];
  readonly mistakes: readonly (readonly [Mistake, Played])[];
}

export const pathOf = (name: string): string => `resources/${kebab(name)}.md`;

export function resourcePage(
  input: ResourceInput,
  model: Model,
  links: Links,
  nested: readonly Item[],
): Page {
  const { name, lifecycle, requests, mistakes } = input;
  const item = model.item(name);
  const args = model.item(`${name}Args`);
  const path = pathOf(name);
  const [first = "", ...more] = item.doc.text.split(/\n\n(?=Token permissions:)/)[0]?.split("\n\n") ?? [];
  const body = lines(
    first,
    ...more,
    section(2, "Examples", examples(3, item.doc.examples)),
    section(
      2,
      "Arguments",
      `The members of \`${args.name}\`:`,
      argumentTable(args, lifecycle, links, path),
      ...args.members.map((each) => argumentSection(each, links, path)),
      ...nested.map((each) =>
        section(
          3,
          each.name,
          each.doc.text,
          each.members.length === 0 && block("ts", broken(each.type)),
          argumentTable(each, undefined, links, path),
          ...described(each),
        ),
      ),
    ),
    section(2, "Outputs", "Every argument is also an output.", outputs(item, lifecycle, links, path)),
    section(2, "What destroy does", item.doc.destroy),
    section(2, "Permissions", permissions(name)),
    section(2, "Import", item.doc.importing),
    section(2, "Read without managing", reading(name, lifecycle), item.doc.reading),
    section(2, "Requests it makes", table(["Step", "Requests"], requestRows(requests))),
    section(
      2,
      "Errors",
      item.doc.throws.length > 0 && `It fails:\n\n${list(item.doc.throws)}`,
      mistakes.length > 0 && "The most likely mistakes, and what the preview says of each:",
      ...mistakes.map(([mistake, played]) => mistakeSection(mistake, played)),
      "[All messages](../messages.md), [API error codes](../error-codes.md)",
    ),
    section(2, "See also", list(item.doc.see.map(seen))),
  );
  return { path, title: name, summary: firstSentence(item.doc.text), body };
}

/** How a program reads an existing object. A form of the ID stands for the ID, so that the page has it once. */
function reading(name: ResourceName, { compositeId: { forms } }: LifecycleFacts): string {
  const calls = forms.map((form) => {
    const variable = forms.length === 1 ? "existing" : `of${/^account/.test(form) ? "Account" : "Zone"}`;
    return `const ${variable} = ${name}.get("${kebab(variable)}", "${form}");`;
  });
  const composite = forms.some((form) => form.includes("/"))
    ? " The second argument is the object's ID after its zone or account; a resource's `id` is only the object's."
    : "";
  return lines(
    `\`get\` reads an existing object into outputs, in every preview and update. It never changes or deletes the object.${composite} Options such as \`{ provider }\` are the third argument.`,
    block("ts", `import { ${name} } from "pulumi-edgeguard";\n\n${calls.join("\n")}`),
  );
}

function argumentTable(
  args: Item,
  lifecycle: LifecycleFacts | undefined,
  links: Links,
  path: string,
): string {
  return table(
    ["Argument", "Type", "Default", "A change"],
    args.members.map((each) => {
      const { name, type, optional, doc } = each;
      const secret = Object.hasOwn(lifecycle?.secret ?? {}, name) ? ", secret" : "";
      return [
        `${lifecycle === undefined ? code(name) : `[${code(name)}](#${name.toLowerCase()})`}${secret}`,
        each.members.length > 0 ? "object" : links.type(type, path),
        optional ? (doc.defaultValue ?? "none") : "**required**",
        changeOf(each, lifecycle),
      ];
    }),
  );
}

/** What changing an argument does, as its docstring says; a test compares it with the lifecycle. */
function changeOf({ name, doc }: Member, lifecycle: LifecycleFacts | undefined): string {
  const text = doc.text.replace(/\s+/g, " "); // A docstring may break a line within the sentence.
  if (lifecycle?.replaceOn.includes(name) === true || text.includes("Changing it replaces"))
    return "**replaces**";
  if (text.includes("Write-only.") && !text.includes("Updates in place")) return "write-only";
  return text.includes("Changing it writes nothing") ? "writes nothing" : "updates in place";
}

function argumentSection(member: Member, links: Links, path: string): string {
  return section(
    3,
    code(member.name),
    member.doc.text,
    defaultOf(member),
    nestedTable(member, links, path),
    ...member.doc.examples.map(({ code: text }) => block("ts", text)),
  );
}

function nestedTable({ members, type: whole }: Member, links: Links, path: string): string {
  const rows = (all: readonly Member[], before: string): string[][] =>
    all.flatMap(({ name, type, optional, alternative, doc, members: inner }) => [
      [
        code(before + name),
        inner.length > 0 ? "object" : links.type(type, path),
        optional ? (doc.defaultValue ?? "none") : alternative ? "one of" : "**required**",
        doc.text,
      ],
      ...rows(inner, `${before}${name}.`),
    ]);
  const text = /(?:^|\| )\(?string\b/.test(whole) ? ", or a string" : "";
  return lines(
    members.some(({ alternative }) => alternative) && `Takes an object with one of these members${text}:`,
    table(["Member", "Type", "Default", "Meaning"], rows(members, "")),
  );
}

function described(item: Item): string[] {
  return item.members.map(({ name, doc }) => (doc.text === "" ? "" : `${code(name)}: ${doc.text}`));
}

function outputs(
  item: Item,
  { secretOutputs = [], secret = {} }: LifecycleFacts,
  links: Links,
  path: string,
): string {
  return table(
    ["Output", "Type", "Meaning"],
    item.members.map(({ name, type, doc }) => [
      `${code(name)}${secretOutputs.includes(name) || Object.hasOwn(secret, name) ? ", secret" : ""}`,
      links.type(type, path),
      doc.text,
    ]),
  );
}

function permissions(name: ResourceName): string {
  const rights: {
    toRead: readonly RequiredPermission[];
    toWrite: readonly RequiredPermission[];
    note?: string;
  } = RESOURCE_PERMISSIONS[name];
  const listed = (all: readonly RequiredPermission[]): string =>
    all.map(({ scope, name: of, level }) => `${scope}: ${of} ${level}`).join("<br>");
  return lines(
    table(
      ["To preview and refresh", "To update and destroy"],
      [[listed(rights.toRead), listed(rights.toWrite)]],
    ),
    rights.note,
    "[Permissions of all resources](../permissions.md)",
  );
}

/** Steps that send the same share a row. Reads come sorted, because some are sent side by side. */
function requestRows(steps: ResourceInput["requests"]): string[][] {
  const rows = new Map<string, string[]>();
  for (const [step, sent] of steps) {
    const unique = [...new Set(sent)];
    const reads = unique.filter((request) => request.startsWith("GET ")).sort();
    const writes = unique.filter((request) => !request.startsWith("GET "));
    const cell = [...reads, ...writes].map(code).join("<br>") || "none";
    rows.set(cell, [...(rows.get(cell) ?? []), step]);
  }
  return [...rows].map(([cell, names]) => [names.join("<br>"), cell]);
}

export function mistakeSection(mistake: Mistake, played: Played): string {
  const { title, warns, fix, files = {} } = mistake;
  return section(
    3,
    title,
    played.written !== undefined && block("ts", written(played.written)),
    ...Object.entries(files).map(([file, text]) => lines(`${code(file)} contains:`, block("json", text))),
    `The preview ${warns === true ? "warns" : "fails"}:`,
    quote(played.said),
    played.instead !== undefined && lines("Write instead:", block("ts", written(played.instead))),
    fix,
  );
}

function written(args: object): string {
  const given = Object.entries(args).filter(([, value]) => value !== null);
  if (given.length === 0)
    return Object.keys(args)
      .map((argument) => `// no ${argument}`)
      .join("\n");
  return given.map(([argument, value]) => `${argument}: ${literal(value)},`).join("\n");
}
