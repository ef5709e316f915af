import { linesOf } from "../equal-tasks";
import type { Account, Cell, Deployment, Head, Task, Zone } from "../model";
import { isNotReadable, mapCell, notReadableText, textOf, valueOf } from "../readable";
import { amount, capitalized, counted, spelled, timeOf } from "./cells";
import { cutList, element, link, type Child } from "./dom";

/**
 * Shows everything that the survey contains about a zone or account. How a value is shown depends on its form, so a new
 * property needs no code here.
 */

const DASHBOARD = "https://dash.cloudflare.com";
const DOCS = "https://developers.cloudflare.com";

/** The parts of a zone that have a section, in order, with Cloudflare's pages about them. */
const SECTIONS = {
  pageShield: "page-shield/",
  policies: "page-shield/policies/",
  scripts: "page-shield/detection/review-malicious-scripts/",
  deployments: "waf/managed-rules/",
  responseDeployments: "waf/managed-rules/reference/sensitive-data-detection/",
  accountDeployments: "waf/account/managed-rulesets/",
  firewallEvents: "waf/analytics/security-events/",
  migration: "waf/reference/migration-guides/waf-managed-rules-migration/",
  jobs: "logs/logpush/",
} as const;

/** The names of properties, where they aren't just the property's words. */
const LABELS: Readonly<Record<string, string>> = {
  accountDeployments: "Managed rulesets of the account",
  command: "To import them, run",
  deployments: "Managed rulesets",
  firewallEvents: "Firewall events of managed rules",
  hasPaymentPages: "Payment pages",
  isCut: "Incomplete",
  isMalicious: "Malicious",
  isSampled: "Estimated from a sample",
  jobs: "Logpush jobs",
  migration: "WAF migration",
  namespaces: "Workers KV namespaces",
  onLog: "Of rules on log",
  pageShield: "Page Shield",
  responseDeployments: "Managed rulesets for responses",
  top: "Rule with the most",
  unread: "Not readable, so there may be more",
  worst: "Scripts that need attention. Scores range from 1 to 99; lower is worse.",
};

/** What it means that a property is null. */
const NULLS: Readonly<Record<string, string>> = {
  unapproved: "no inventory was given",
  wouldBlock: "only a browser can tell",
};

const CODE = new Set(["command", "destination", "expression", "url", "value"]);

/** A list shows this many items, and offers the others. */
const SHOWN = 10;

/** The properties that an object's title is taken from. The first one that isn't empty is used. */
const TITLES = ["name", "description", "id"];

export function zonePart(zone: Zone, head: Head): HTMLElement {
  const { id, plan, status, hasPaymentPages, tasks } = zone;
  const accountId = valueOf(zone.accountId);
  const account = head.accounts.find((each) => each.id === accountId)?.name;
  const parts: Readonly<Partial<Record<Section, unknown>>> = {
    ...zone,
    deployments: named(zone.deployments),
    responseDeployments: named(zone.responseDeployments),
    accountDeployments: named(zone.accountDeployments),
  };
  const taskItem = (task: Task): HTMLElement => {
    const row = { ...task, zoneCount: 1, zones: [{ id, name: valueOf(zone.name) ?? id }] };
    return element("li", {}, task.text, codeBlock(linesOf(row)));
  };
  return element(
    "div",
    { class: "zone" },
    ...show({ zoneId: id, account: account ?? zone.accountId, plan, status, hasPaymentPages }),
    dashboardLinks(accountId, valueOf(zone.name)),
    tasks.length === 0 ? undefined : section("To do", [element("ul", {}, ...tasks.map(taskItem))]),
    ...Object.entries(SECTIONS).map(([name, docs]) => {
      const part = parts[name as Section];
      return part === undefined ? undefined : section(labelOf(name), show(part), docs);
    }),
    unmanaged(zone),
  );
}

/** Shows lines to paste or run. Undefined if there are none. */
export function codeBlock(lines: readonly string[]): HTMLElement | undefined {
  return lines.length === 0 ? undefined : element("pre", {}, element("code", {}, lines.join("\n")));
}

type Section = keyof typeof SECTIONS;

export function accountPart(account: Account): HTMLElement {
  const { id, name = id, zones, rulesets, jobs } = account;
  const namespaces = mapCell(account.namespaces, (all) =>
    all.map((each) => ({
      ...each,
      keys: textOf(each.keys, ({ count, more }) => `${more ? "more than " : ""}${amount(count)}`),
    })),
  );
  const parts = { namespaces, rulesets, deployments: named(account.deployments), jobs };
  return element(
    "article",
    {},
    element("h3", {}, name),
    element("p", {}, `${counted(zones, "zone")}, account ID ${id}`),
    dashboardLinks(id),
    ...Object.entries(parts).map(([part, cell]) => {
      const length = textOf<readonly unknown[]>(cell, (all) => amount(all.length));
      return element("details", {}, element("summary", {}, `${labelOf(part)}: ${length}`), ...show(cell));
    }),
    unmanaged(account),
  );
}

/** Names each deployment after its ruleset. */
function named(deployments: Cell<readonly Deployment[]>): Cell<readonly object[]> {
  return mapCell(deployments, (all) =>
    all.map((each) => ({ name: textOf(each.effect, ({ name }) => name), ...each })),
  );
}

/** Shows the objects that no stack manages, with the command to import them. */
function unmanaged({ unmanaged }: Pick<Zone, "unmanaged">): HTMLElement | undefined {
  const { objects = [], unread = [] } = unmanaged ?? {};
  if (objects.length + unread.length === 0) return undefined;
  // Without objects, "None" would be wrong: the parts that couldn't be read may contain some.
  return section("Not in a stack", show(objects.length > 0 ? unmanaged : { unread }));
}

function dashboardLinks(accountId: string | undefined, name?: string): HTMLElement {
  const path = accountId === undefined ? [] : [accountId, ...(name === undefined ? [] : [name])];
  // Half of a surrogate pair can't be encoded.
  const encoded = path.map((each) => encodeURIComponent(each.replace(/\p{Surrogate}/gu, "\ufffd")));
  const home = [DASHBOARD, ...encoded].join("/");
  const pages =
    path.length < 2
      ? []
      : [
          link("Web assets", `${home}/security/web-assets`),
          link("Security rules", `${home}/security/security-rules`),
          link("Logpush", `${home}/analytics/logs`),
        ];
  return element("p", { class: "links" }, "In the dashboard: ", link("Overview", home), ...pages);
}

function section(title: string, content: readonly Child[], docs?: string): HTMLElement {
  const about = docs === undefined ? undefined : link(`About ${title}`, `${DOCS}/${docs}`);
  const head = element("div", { class: "head" }, element("h3", {}, title), about);
  return element("section", {}, head, ...content);
}

type Members = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isNotReadable(value);
}

/** Shows a value. @param name the property that contains it. */
function show(value: unknown, name = ""): readonly Child[] {
  if (isNotReadable(value)) return [element("span", { class: "muted" }, capitalized(notReadableText(value)))];
  if (isObject(value)) return membersOf(value);
  if (!Array.isArray(value)) return [scalar(value, name)];
  const items: readonly unknown[] = value;
  if (items.length === 0) return ["None"];
  const objects = items.filter(isObject);
  if (objects.length === 0)
    return cutList(element("ul"), items, SHOWN, (item) => element("li", {}, ...show(item, name)));
  return objects.every(isRow) ? table(objects) : cutList(element("div"), objects, SHOWN, block);
}

/** Shows an object's properties. Lists of objects follow the others, because they take the whole width. */
function membersOf(members: Members): readonly Child[] {
  const known = Object.entries(members).filter(([, value]) => value !== undefined && value !== "");
  const isWide = (value: unknown): boolean => Array.isArray(value) && value.some(isObject);
  const facts = known.filter(([, value]) => !isWide(value));
  return [
    element(
      "dl",
      {},
      ...facts.flatMap(([name, value]) => [
        element("dt", {}, labelOf(name)),
        element("dd", {}, ...show(value, name)),
      ]),
    ),
    ...known
      .filter(([, value]) => isWide(value))
      .flatMap(([name, value]) => [element("p", { class: "muted" }, labelOf(name)), ...show(value)]),
  ];
}

/** Whether an object fits into the row of a table: it contains no other objects, and no expression, which may be long. */
function isRow(members: Members): boolean {
  return !("expression" in members) && !Object.values(members).flat().some(isObject);
}

function table(objects: readonly Members[]): readonly Child[] {
  const names = [...new Set(objects.flatMap(Object.keys))].filter((name) =>
    objects.some((each) => each[name] !== undefined && each[name] !== ""),
  );
  const cellOf = (value: unknown, name: string): HTMLElement =>
    element("td", { "data-label": labelOf(name) }, ...(value === undefined ? [] : show(value, name)));
  const heads = names.map((name) => element("th", { scope: "col" }, labelOf(name)));
  const body = element("tbody");
  const [, ...more] = cutList(body, objects, SHOWN, (each) =>
    element("tr", {}, ...names.map((name) => cellOf(each[name], name))),
  );
  return [element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body), ...more];
}

function block(members: Members): HTMLElement {
  const title = TITLES.find((name) => typeof members[name] === "string" && members[name] !== "");
  const heading = title === undefined ? undefined : element("h4", {}, String(members[title]));
  const others = title === undefined ? members : { ...members, [title]: undefined };
  return element("div", { class: "block" }, heading, ...membersOf(others));
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d[\d:.]*Z$/;

function scalar(value: unknown, name: string): Child {
  if (value === null) return NULLS[name] ?? "none";
  if (typeof value === "boolean") return value ? "Yes" : "No";
  if (typeof value === "number") return amount(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (CODE.has(name)) return element("code", {}, text);
  return TIME.test(text) ? timeOf(text) : text;
}

function labelOf(name: string): string {
  return LABELS[name] ?? spelled(name);
}
