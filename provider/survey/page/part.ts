import type { Account, Cell, Deployment, Head, NotReadable, SurveyedJob, Unmanaged, Zone } from "../model";
import { textOf, valueOf } from "../readable";
import { amount, capitalized, counted, timeOf } from "./cells";
import { element, link, type Child } from "./dom";

/** Shows everything that the survey contains about a zone or account. */

const DASHBOARD = "https://dash.cloudflare.com";
const DOCS = "https://developers.cloudflare.com";

export function zonePart(zone: Zone, head: Head): HTMLElement {
  const accountId = valueOf(zone.accountId);
  const account = head.accounts.find(({ id }) => id === accountId);
  return element(
    "div",
    { class: "zone" },
    facts([
      ["Zone ID", zone.id],
      ["Account", textOf(zone.accountId, (id) => account?.name ?? id)],
      ["Plan", textOf(zone.plan, capitalized)],
      ["Status", textOf(zone.status, capitalized)],
      ["Payment pages", textOf(zone.hasPaymentPages, (has) => (has ? "Yes" : undefined))],
    ]),
    dashboardLinks(accountId, valueOf(zone.name)),
    ...(zone.tasks.length === 0
      ? []
      : [
          section(
            "To do",
            undefined,
            list(
              zone.tasks.map(({ text }) => text),
              "ol",
            ),
          ),
        ]),
    section("Page Shield", `${DOCS}/page-shield/`, pageShield(zone)),
    section(
      "Policies",
      `${DOCS}/page-shield/policies/`,
      ...cellOf(zone.policies, "No policies.", (all) => all.map(policy)),
    ),
    section("Scripts", `${DOCS}/page-shield/detection/review-malicious-scripts/`, ...scripts(zone)),
    section(
      "Managed rulesets",
      `${DOCS}/waf/managed-rules/`,
      ...cellOf(zone.deployments, "No managed ruleset is deployed.", (all) => all.map(deployment)),
    ),
    ...accountDeployments(zone),
    section(
      "WAF migration",
      `${DOCS}/waf/reference/migration-guides/waf-managed-rules-migration/`,
      ...migration(zone),
    ),
    section("Logpush jobs", `${DOCS}/logs/logpush/`, ...cellOf(zone.jobs, "No jobs.", (all) => [jobs(all)])),
    ...unmanaged(zone.unmanaged),
  );
}

export function accountPart(account: Account): HTMLElement {
  const title = account.name ?? account.id;
  return element(
    "article",
    {},
    element("h3", {}, title),
    paragraph(`${counted(account.zones, "zone")}, account ID ${account.id}`),
    dashboardLinks(account.id),
    folded(
      `Workers KV namespaces: ${textOf(account.namespaces, ({ length }) => amount(length))}`,
      ...cellOf(account.namespaces, "No namespaces.", (namespaces) => [
        table(
          `Namespaces of ${title}`,
          ["Title", "Keys", "ID", ...stackHead(namespaces)],
          namespaces.map(({ id, title, keys, stack }) => [
            title,
            textOf(keys, ({ count, more }) => (more ? `more than ${amount(count)}` : amount(count))),
            element("code", {}, id),
            ...stackCell(stack),
          ]),
        ),
      ]),
    ),
    folded(
      `Rulesets: ${textOf(account.rulesets, ({ length }) => amount(length))}`,
      ...cellOf(account.rulesets, "No rulesets.", (rulesets) => [
        table(
          `Rulesets of ${title}`,
          ["Name", "Kind", "Phase", "Version"],
          rulesets.map(({ name, kind, phase, version }) => [name, kind, phase, version]),
        ),
      ]),
    ),
    folded(
      `Managed rulesets of the account: ${textOf(account.deployments, ({ length }) => amount(length))}`,
      ...cellOf(account.deployments, "No managed ruleset is deployed.", (all) => all.map(deployment)),
    ),
    folded(
      `Logpush jobs of the account: ${textOf(account.jobs, ({ length }) => amount(length))}`,
      ...cellOf(account.jobs, "No jobs.", (found) => [jobs(found)]),
    ),
    ...unmanaged(account.unmanaged),
  );
}

function dashboardLinks(accountId: string | undefined, name?: string): HTMLElement {
  const home = [DASHBOARD, accountId, accountId === undefined ? undefined : name]
    .filter((part) => part !== undefined)
    .map((part, index) => (index === 0 ? part : encodeURIComponent(part)))
    .join("/");
  const pages =
    accountId === undefined || name === undefined
      ? []
      : [
          link("Web assets", `${home}/security/web-assets`),
          link("Security rules", `${home}/security/security-rules`),
          link("Logpush", `${home}/analytics/logs`),
        ];
  return element("p", { class: "links" }, "In the dashboard: ", link("Overview", home), ...pages);
}

function pageShield({ pageShield }: Zone): HTMLElement {
  const value = valueOf(pageShield);
  if (value === undefined) return notReadable(pageShield);
  const { enabled, updatedAt, useReportingEndpoint, useConnectionUrlPath, stack } = value;
  return facts([
    ["State", enabled ? "On" : "Off"],
    ["Changed", updatedAt === undefined ? undefined : timeOf(updatedAt)],
    [
      "Reports to",
      useReportingEndpoint === undefined ? undefined : useReportingEndpoint ? "Cloudflare" : "the zone",
    ],
    [
      "Connections",
      useConnectionUrlPath === undefined ? undefined : useConnectionUrlPath ? "with paths" : "hosts only",
    ],
    ["Stack", stackText(stack)],
  ]);
}

type Policy = Exclude<Zone["policies"], NotReadable>[number];

function policy({ id, description, effect, expression, value, wouldBlock, stack }: Policy): HTMLElement {
  return block(`${capitalized(effect)}: ${description === "" ? id : description}`, [
    ["Pages", element("code", {}, expression)],
    ["Allows", element("code", {}, value)],
    [
      "Would block",
      wouldBlock === undefined
        ? undefined
        : wouldBlock === null
          ? "only a browser can tell"
          : `${wouldBlock.count} of ${counted(wouldBlock.seen, "script")} seen${wouldBlock.scripts.length === 0 ? "" : `: ${wouldBlock.scripts.join(", ")}`}`,
    ],
    ["Stack", stackText(stack)],
  ]);
}

function scripts({ scripts }: Zone): HTMLElement[] {
  const value = valueOf(scripts);
  if (value === undefined) return [notReadable(scripts)];
  const { seen, malicious, notScored, unapproved, onPaymentPages, worst } = value;
  const counts = facts([
    ["Seen", amount(seen)],
    ["Malicious", amount(malicious)],
    ["Not scored", amount(notScored)],
    ["Not approved", unapproved === null ? "no inventory was given" : amount(unapproved)],
    ["On payment pages", amount(onPaymentPages)],
  ]);
  if (worst.length === 0) return [counts];
  const rows = worst.map(({ url, host, firstPageUrl, score, threats, onPaymentPage }) => [
    element("code", {}, url),
    `${firstPageUrl ?? host}${onPaymentPage ? " (payment page)" : ""}`,
    score === undefined ? "not scored" : String(score),
    (threats ?? []).join(", "),
  ]);
  return [
    counts,
    table(
      "Scripts that need attention. Scores range from 1 to 99; lower is worse.",
      ["Script", "Seen on", "Score", "Threats"],
      rows,
    ),
  ];
}

/**
 * Returns the section about the account's managed rulesets. It's omitted if none apply, because only Enterprise zones
 * can have them.
 */
function accountDeployments({ accountDeployments: given }: Zone): HTMLElement[] {
  const shown = cellOf(given, "", (all) => all.map(deployment));
  return valueOf(given)?.length === 0
    ? []
    : [section("Managed rulesets of the account", `${DOCS}/waf/account/managed-rulesets/`, ...shown)];
}

const STATE_WORDS = { on: "On", off: "Off", perhaps: "Perhaps on" } as const;

function deployment(given: Deployment): HTMLElement {
  const { effect, description, expression, exceptions, stack } = given;
  const name = textOf(effect, (ruleset) => ruleset.name);
  const ruleset = valueOf(effect);
  return block(`${STATE_WORDS[given.state]}: ${name}`, [
    ["Rule", description === "" ? undefined : description],
    ["Requests", element("code", {}, expression)],
    [
      "Version",
      ruleset === undefined
        ? undefined
        : `${ruleset.version}${ruleset.versionsBehind > 0 ? `, ${counted(ruleset.versionsBehind, "version")} behind` : ", the latest"}`,
    ],
    ["Paranoia level", numberText(ruleset?.paranoiaLevel)],
    ["Score threshold", numberText(ruleset?.scoreThreshold)],
    ["Action", ruleset?.action],
    [
      "Rules",
      ruleset === undefined ? undefined : `${amount(ruleset.rulesOn)} on, ${amount(ruleset.rulesOff)} off`,
    ],
    ...exceptions.map(({ description: why, expression: when, skips }): Fact => [
      "Exception",
      element(
        "span",
        {},
        `${why === "" ? "" : `${why}: `}skips ${skips === "all" ? "the whole ruleset" : counted(skips, "rule")} if `,
        element("code", {}, when),
      ),
    ]),
    ["Stack", stackText(stack)],
  ]);
}

function migration({ migration }: Zone): HTMLElement[] {
  const value = valueOf(migration);
  if (value === undefined) return [notReadable(migration)];
  const { readiness, state, because, missingRight } = value;
  return [
    facts([
      ["Readiness", readiness],
      ["State", state],
      ["Missing permission", missingRight],
    ]),
    ...(because.length === 0 ? [] : [list(because, "ul")]),
  ];
}

function jobs(all: readonly SurveyedJob[]): HTMLElement {
  return table(
    "Logpush jobs",
    ["Job", "Dataset", "State", "Destination", "Last push", "Last error", ...stackHead(all)],
    all.map(({ id, name, dataset, state, destination, lastComplete, lastError, errorMessage, stack }) => [
      name === "" ? id : name,
      dataset,
      capitalized(state),
      element("code", {}, destination),
      lastComplete === undefined ? "never" : timeOf(lastComplete),
      [lastError === undefined ? undefined : timeOf(lastError), errorMessage]
        .filter((part) => part !== undefined)
        .join(": "),
      ...stackCell(stack),
    ]),
  );
}

/** Returns the objects that no stack manages, with the command to import them. */
function unmanaged(given: Unmanaged | undefined): HTMLElement[] {
  if (given === undefined) return [];
  const { objects, unread, command } = given;
  if (objects.length === 0 && unread.length === 0) return [];
  return [
    section(
      "Not in a stack",
      undefined,
      ...(unread.length === 0
        ? []
        : [paragraph(`There may be more: some parts couldn't be read (${unread.join(", ")}).`)]),
      ...(objects.length === 0
        ? []
        : [
            list(
              objects.map(({ type, name, id }) => `${type} ${name === "" ? id : name}`),
              "ul",
            ),
            paragraph("To generate a program for these objects, run:"),
            element("pre", { tabindex: 0 }, command),
          ]),
    ),
  ];
}

type Fact = readonly [label: string, value: Child];

function section(title: string, docs: string | undefined, ...children: readonly Child[]): HTMLElement {
  const about = docs === undefined ? undefined : link(`About ${title}`, docs);
  return element(
    "section",
    {},
    element("div", { class: "head" }, element("h3", {}, title), about),
    ...children,
  );
}

function block(title: string, all: readonly Fact[]): HTMLElement {
  return element("div", { class: "block" }, element("h4", {}, title), facts(all));
}

function facts(all: readonly Fact[]): HTMLElement {
  const known = all.filter(([, value]) => value !== undefined);
  return element(
    "dl",
    {},
    ...known.flatMap(([label, value]) => [element("dt", {}, label), element("dd", {}, value)]),
  );
}

function folded(summary: string, ...children: readonly Child[]): HTMLElement {
  return element("details", {}, element("summary", {}, summary), ...children);
}

function list(items: readonly string[], kind: "ol" | "ul"): HTMLElement {
  return element(kind, {}, ...items.map((item) => element("li", {}, item)));
}

function paragraph(text: string): HTMLElement {
  return element("p", {}, text);
}

function table(caption: string, heads: readonly string[], rows: readonly (readonly Child[])[]): HTMLElement {
  return element(
    "table",
    {},
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element(
      "tbody",
      {},
      ...rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell)))),
    ),
  );
}

/** Shows a cell that contains a list, or a sentence if the list is empty or couldn't be read. */
function cellOf<T extends readonly unknown[]>(
  given: Cell<T>,
  empty: string,
  show: (value: Exclude<T, NotReadable>) => readonly HTMLElement[],
): readonly HTMLElement[] {
  const value = valueOf(given);
  if (value === undefined) return [notReadable(given)];
  return value.length === 0 ? [paragraph(empty)] : show(value);
}

function notReadable(given: Cell<unknown>): HTMLElement {
  return element("p", { class: "muted" }, capitalized(textOf(given, () => "")));
}

function numberText(value: number | undefined): string | undefined {
  return value === undefined ? undefined : String(value);
}

interface Stacked {
  readonly stack?: string | null;
}

function stackText(stack: Stacked["stack"]): string | undefined {
  return stack === null ? "none" : stack;
}

function stackHead(all: readonly Stacked[]): readonly string[] {
  return all.some(({ stack }) => stack !== undefined) ? ["Stack"] : [];
}

function stackCell(stack: Stacked["stack"]): readonly string[] {
  return stack === undefined ? [] : [stack ?? "none"];
}
