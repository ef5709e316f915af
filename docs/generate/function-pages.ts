import { block, code, lines, list, section, slug, type Page } from "./markdown";
import type { Asked } from "./lookup-samples";
import type { Item, Model } from "./model";
import { broken, examples, members, seen, type Links } from "./reference";

/** A page of lookups and functions: everything exported from these folders that has no page of its own. */
interface Group {
  readonly path: string;
  readonly title: string;
  readonly summary: string;
  readonly holds: (item: Item) => boolean;
}

const inFolder =
  (...folders: readonly string[]) =>
  ({ file, name }: Item): boolean =>
    !/^(filter|destination)(\.|$)/.test(name) && folders.some((folder) => file.startsWith(folder));

const GROUPS: readonly Group[] = [
  {
    path: "resources/provider.md",
    title: "Provider",
    summary: "Gives resources and lookups the credential and settings of one account or token.",
    holds: ({ name }) => /^Provider(Args)?$/.test(name),
  },
  {
    path: "resources/protected-zone.md",
    title: "ProtectedZone",
    summary:
      "Protects a zone with five resources: Page Shield, two managed rulesets, and a job for firewall events.",
    holds: ({ name }) => /^ProtectedZone(Args)?$/.test(name),
  },
  {
    path: "functions/page-shield.md",
    title: "Page Shield functions",
    summary: "Read a zone's settings, policies and detections, and build a policy from them.",
    holds: inFolder("page-shield/"),
  },
  {
    path: "functions/managed-rulesets.md",
    title: "Managed ruleset functions",
    summary: "Read managed rulesets and what a zone runs of them.",
    holds: inFolder("rulesets/"),
  },
  {
    path: "functions/waf-migration.md",
    title: "WAF migration functions",
    summary: "Report which zones are ready for the WAF migration.",
    holds: inFolder("migration/"),
  },
  {
    path: "functions/logpush.md",
    title: "Logpush functions",
    summary: "Read Logpush jobs and the fields of a dataset, and test a filter on sample log lines.",
    holds: inFolder("logpush/"),
  },
  {
    path: "functions/logpush-filters.md",
    title: "Logpush filters",
    summary: "Build the filter of a Logpush job from conditions that the compiler checks.",
    holds: ({ name }) => /^filter(\.|$)/.test(name),
  },
  {
    path: "functions/logpush-destinations.md",
    title: "Logpush destinations",
    summary: "Build the destination of a Logpush job, by kind of storage.",
    holds: ({ name }) => /^destination(\.|$)/.test(name),
  },
  {
    path: "functions/workers-kv.md",
    title: "Workers KV functions",
    summary: "Read namespaces, keys, values and metadata.",
    holds: inFolder("kv/"),
  },
  {
    path: "functions/workers-limits.md",
    title: "Limits and error functions",
    summary: "Check Workers against Cloudflare's documented limits, and explain API errors.",
    holds: inFolder("workers-limits/", "limits/", "api/"),
  },
  {
    path: "functions/policies.md",
    title: "Policies",
    summary: "Policies for a pack of `@pulumi/policy`, from `pulumi-edgeguard/policies`.",
    holds: inFolder("policies/"),
  },
  {
    path: "functions/testing.md",
    title: "Testing",
    summary: "Unit tests of programs with the real checks, from `pulumi-edgeguard/testing`.",
    holds: inFolder("testing/"),
  },
  {
    path: "functions/common.md",
    title: "Common types",
    summary: "Types that several resources and lookups share.",
    holds: inFolder("runtime/"),
  },
];

interface Grouped extends Group {
  readonly items: readonly Item[];
}

/** The pages and what is on each; every name finds its place in `links`. */
export function grouped(model: Model, links: Links): readonly Grouped[] {
  return GROUPS.map((group) => {
    const items = model.items.filter((item) => !links.has(item.name) && group.holds(item));
    for (const { name } of items) {
      const plain = name.replace(/Output$/, "");
      links.place(name, group.path, items.some((each) => each.name === plain) ? plain : name);
    }
    for (const each of items)
      for (const { name, file } of argumentTypes(each, model))
        if (file === each.file && !/\./.test(each.name))
          links.place(name, group.path, each.name.replace(/Output$/, ""));
    return { ...group, items };
  });
}

export function functionPage(
  group: Grouped,
  links: Links,
  model: Model,
  asked: ReadonlyMap<string, Asked>,
): Page {
  const { path, title, summary, items } = group;
  const isOutput = ({ name }: Item): boolean =>
    items.some((each) => each.name === name.replace(/Output$/, "") && each.name !== name);
  const functions = items.filter((item) => item.kind === "function" && !isOutput(item));
  const isLookup = ({ name }: Item): boolean => items.some((each) => each.name === `${name}Output`);
  const rest = items.filter(
    ({ kind, name }) =>
      !["function", "namespace"].includes(kind) && links.to(name, path) === `#${slug(name)}`,
  );
  const [constants, types] = [
    rest.filter(({ kind }) => kind === "constant"),
    rest.filter(({ kind }) => kind !== "constant"),
  ];
  const body = lines(
    summary,
    ...items.filter(({ kind }) => kind === "namespace").map(({ doc }) => doc.text),
    section(2, "Lookups", ...functions.filter(isLookup).map(functionSection)),
    section(2, "Functions", ...functions.filter((each) => !isLookup(each)).map(functionSection)),
    section(2, "Constants", ...constants.map(typeSection)),
    section(2, "Types", ...types.map(typeSection)),
  );
  return { path, title, summary, body };

  function functionSection(item: Item): string {
    const { name, doc, type } = item;
    const output = items.find((each) => each.name === `${name}Output`);
    const request = asked.get(name);
    if (output !== undefined && (request?.requests.length ?? 0) === 0)
      throw new Error(`lookup-samples.ts has no call of ${name} that sends a request`);
    const args = argumentTypes(item, model);
    return section(
      3,
      name,
      doc.text,
      block("ts", item.signatures.join("\n")),
      ...args.map(({ members: all }) => members(all, links, path)),
      `**Returns** ${links.type(type.replace(/^Promise<(.*)>$/, "$1"), path)}${doc.returns === undefined ? "" : `: ${doc.returns}`}`,
      output !== undefined &&
        `**With outputs** ${code(output.name)} takes arguments that may be outputs, and returns an output.`,
      request !== undefined &&
        request.requests.length > 0 &&
        `**Requests** ${request.requests.map(code).join(", ")}`,
      request !== undefined && request.rights.length > 0 && `**Permissions** ${request.rights.join("; ")}`,
      doc.throws.length > 0 && `**Fails**\n\n${list(doc.throws)}`,
      examples(4, doc.examples),
      doc.see.length > 0 && `**See**\n\n${list(doc.see.map(seen))}`,
    );
  }

  function typeSection({ name, doc, members: all, type }: Item): string {
    return section(
      3,
      name,
      doc.text,
      all.length > 0 ? members(all, links, path) : type !== "" && block("ts", broken(type)),
      examples(4, doc.examples),
    );
  }
}

/** Types of a function's arguments that are written out below it. */
function argumentTypes({ parameters }: Item, model: Model): Item[] {
  const words = parameters.flatMap(({ type }) => type.match(/\b[A-Z]\w+/g) ?? []);
  return model.items.filter(
    ({ name, kind }) => kind === "interface" && name !== "LookupOptions" && words.includes(name),
  );
}
