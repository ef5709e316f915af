import { add } from "../counts";
import { EqualTasks, linesOf, type TaskRow } from "../equal-tasks";
import type { Head, Zone } from "../model";
import { NOT_READABLE } from "../readable";
import { amount, counted, timeOf } from "./cells";
import { CHARTS, TASK_WORDS, type Chart } from "./charts";
import { columnsOf, nameOf, sortKeyOf, type Column } from "./columns";
import { cutList, element, opened, type Child } from "./dom";
import { accountPart, codeBlock, zonePart } from "./part";
import { matches, searchable, sorted, wordsOf, type Direction } from "./rows";
import { chartsOf, type Sums } from "./totals";

/** A zone, with values that are computed only once. */
interface Item {
  readonly zone: Zone;
  readonly counts: Sums;
  /** The text to search. Computed when it's first needed. */
  text?: string;
}

const FIRST_SHOWN = 8;
const MOST_ZONES = 100;
const MOST_ROWS = 100;

// Written by html.ts in the same version, so the form is known.
const head = JSON.parse(dataOf("head")) as Head;
const zones = JSON.parse(dataOf("zones")) as readonly Zone[];
const items: readonly Item[] = zones.map((zone) => ({
  zone,
  counts: Object.fromEntries(CHARTS.map((chart) => [chart.id, chart.of(zone)])),
}));
const columns = columnsOf(head);

/** The filters that the user has chosen. */
const filters = new Map<Chart, Set<string>>();
let words: readonly string[] = [];
let order: { readonly column: Column; readonly direction: Direction } | undefined;
let shown: readonly Item[] = [];

const search = element("input", {
  type: "search",
  id: "search",
  placeholder: "Name, ID, host, expression …",
  autocomplete: "off",
  spellcheck: "false",
});
const status = element("p", { role: "status" });
const clearing = element("button", { type: "button" }, "Clear");
const table = element("table", { class: "zones", "aria-labelledby": "zones-title" });
const body = element("tbody");
/** The button below the table that shows the other rows. */
const moreRows = element("div");
const headings = columns.map(headingOf);
const charts = chartsOf(head, toggle);
const [tasks, ...others] = charts;
const part = element("dialog", { "aria-labelledby": "part-title" });

start();

function start(): void {
  document.getElementById("unfinished")?.remove();
  document.title = `Cloudflare survey, ${head.at.slice(0, 10)}`;
  table.append(
    element(
      "caption",
      {},
      "Zones. Select a column heading to sort by it, or a name to see everything about that zone.",
    ),
    element("thead", {}, element("tr", {}, ...headings.map(({ cell }) => cell))),
    body,
  );
  document.body.append(
    element("a", { class: "skip", href: "#search" }, "Skip to the search"),
    element(
      "main",
      {},
      summary(),
      element("h2", {}, "What to do first"),
      element("div", { class: "first" }, element("div", {}, ...firsts()), tasks?.card),
      element("h2", {}, "Totals"),
      element("div", { class: "cards" }, ...others.map(({ card }) => card)),
      element("h2", { id: "zones-title" }, "Zones"),
      element(
        "div",
        { class: "tools" },
        element("label", { for: "search" }, "Search"),
        search,
        status,
        clearing,
      ),
      table,
      moreRows,
      element("h2", {}, "Accounts"),
      ...head.accounts.map(accountPart),
    ),
    part,
  );
  search.addEventListener("input", () => {
    words = wordsOf(search.value);
    update();
  });
  addEventListener("beforeprint", () => {
    document.querySelectorAll<HTMLDetailsElement>("article details").forEach((each) => (each.open = true));
    for (const within of [part, moreRows])
      within.querySelectorAll<HTMLElement>(".more").forEach((each) => each.click());
  });
  clearing.addEventListener("click", clear);
  addEventListener("hashchange", openLinked);
  part.addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));
  const urgent = columns.find(({ id }) => id === "tasks");
  if (urgent !== undefined) order = { column: urgent, direction: "ascending" };
  update();
  openLinked();
}

function dataOf(id: string): string {
  return document.getElementById(id)?.textContent ?? "";
}

/** Returns a summary of what was surveyed and what couldn't be read. */
function summary(): HTMLElement {
  const { accounts, at, tool, zoneCount, missingRights, stacks, paymentPages } = head;
  return element(
    "header",
    {},
    element("h1", {}, "Cloudflare survey"),
    element(
      "p",
      { class: "muted" },
      [
        `${counted(zoneCount, "zone")} in ${accounts.length === 1 ? `account ${accounts[0]?.name ?? accounts[0]?.id ?? ""}` : counted(accounts.length, "account")}`,
        `read ${timeOf(at)}`,
        tool,
        ...(stacks.length > 0 ? [`compared with ${stacks.map(({ name }) => name).join(", ")}`] : []),
        ...(paymentPages.length > 0 ? [`payment pages: ${paymentPages.join(", ")}`] : []),
      ].join(" · "),
    ),
    missingRights.length === 0
      ? undefined
      : element(
          "div",
          { class: "note" },
          element("strong", {}, "Not readable with this token"),
          element(
            "ul",
            {},
            ...missingRights.map(({ where, zones, accounts }) =>
              element(
                "li",
                {},
                `${where}: ${[
                  ...(zones > 0 ? [counted(zones, "zone")] : []),
                  ...(accounts > 0 ? [counted(accounts, "account")] : []),
                ].join(", ")}`,
              ),
            ),
          ),
        ),
  );
}

/** Returns the list of tasks, as ranked by the survey. */
function firsts(): readonly Child[] {
  if (head.first.length === 0)
    return [
      element(
        "p",
        {},
        head.missingRights.length === 0
          ? "Nothing: no zone needs attention."
          : "Nothing in the parts that this token can read. The other parts may need attention.",
      ),
    ];
  const tasks = new EqualTasks(Infinity);
  for (const zone of zones) tasks.add(zone, nameOf(zone));
  return cutList(element("ol"), tasks.list(), FIRST_SHOWN, taskItem);
}

function taskItem(row: TaskRow): HTMLElement {
  const { kind, zones, text, onPaymentPage, code, command } = row;
  const link = ({ id, name }: TaskRow["zones"][number]): HTMLElement =>
    element("a", { href: `#${id}` }, name);
  const [first] = zones;
  return element(
    "li",
    {},
    element(
      "div",
      {},
      first !== undefined && zones.length === 1
        ? link(first)
        : opened(counted(zones.length, "zone"), () =>
            cutList(element("ul"), zones, MOST_ZONES, (zone) => element("li", {}, link(zone))),
          ),
      onPaymentPage ? element("span", { class: "badge" }, "payment pages") : undefined,
    ),
    element(
      "div",
      {},
      element("span", { class: TASK_WORDS[kind][1] }, text),
      (code ?? command) === undefined
        ? undefined
        : opened(code === undefined ? "Command" : "Code", () => [codeBlock(linesOf(row))]),
    ),
  );
}

interface Heading {
  readonly column: Column;
  readonly cell: HTMLTableCellElement;
}

function headingOf(column: Column): Heading {
  const button = element("button", { type: "button" }, column.title);
  button.addEventListener("click", () => sortBy(column));
  return { column, cell: element("th", { scope: "col", class: column.id }, button) };
}

function sortBy(column: Column): void {
  const initial = column.highestFirst === true ? "descending" : "ascending";
  const other = initial === "ascending" ? "descending" : "ascending";
  const isSecond = order?.column === column && order.direction === initial;
  order = { column, direction: isSecond ? other : initial };
  update();
}

function toggle(chart: Chart, bar: string): void {
  const bars = filters.get(chart) ?? new Set();
  if (!bars.delete(bar)) bars.add(bar);
  if (bars.size === 0) filters.delete(chart);
  else filters.set(chart, bars);
  update();
}

function clear(): void {
  filters.clear();
  search.value = "";
  words = [];
  update();
  search.focus();
}

/** Shows the zones that match the filters, in the chosen order. */
function update(): void {
  const left = items.filter(isLeft);
  shown =
    order === undefined
      ? left
      : sorted(left, ({ zone }) => order && sortKeyOf(order.column, zone), order.direction);
  body.replaceChildren();
  const [, ...more] = cutList(body, shown, MOST_ROWS, rowOf);
  moreRows.replaceChildren(...more.filter((each) => each !== undefined));
  const isFiltered = left.length < items.length;
  const sums = sumsOf(left);
  for (const { chart, update } of charts) update(sums[chart.id] ?? {}, filters.get(chart), isFiltered);
  status.textContent = isFiltered
    ? `${amount(left.length)} of ${counted(items.length, "zone")}`
    : counted(items.length, "zone");
  for (const { column, cell } of headings)
    if (column === order?.column) cell.setAttribute("aria-sort", order.direction);
    else cell.removeAttribute("aria-sort");
  clearing.hidden = filters.size === 0 && words.length === 0;
}

/**
 * Whether a zone matches the filters: in each chart with chosen bars, it belongs to one of them, and it contains every
 * word of the search.
 */
function isLeft(item: Item): boolean {
  for (const [{ id }, bars] of filters)
    if (![...bars].some((bar) => (item.counts[id]?.[bar] ?? 0) > 0)) return false;
  if (words.length === 0) return true;
  item.text ??= searchable(item.zone);
  return matches(item.text, words);
}

function sumsOf(left: readonly Item[]): Sums {
  const sums: Record<string, Record<string, number>> = {};
  for (const { counts } of left)
    for (const [chart, bars] of Object.entries(counts)) add((sums[chart] ??= {}), bars);
  return sums;
}

function rowOf({ zone }: Item): HTMLElement {
  const cells = columns.map(({ id, text, tone }) => {
    const said = text(zone);
    const isUnread = said.startsWith(NOT_READABLE);
    const content =
      id === "name"
        ? element("a", { href: `#${zone.id}`, title: said }, said)
        : element("span", { class: isUnread ? "muted" : tone?.(zone), title: said }, said);
    return element(
      id === "name" ? "th" : "td",
      { class: id, scope: id === "name" ? "row" : undefined },
      content,
    );
  });
  return element("tr", {}, ...cells);
}

/** Opens the details of the zone whose ID is in the page's URL. Without such a zone, closes any open details. */
function openLinked(): void {
  const id = location.hash.slice(1);
  const item = items.find(({ zone }) => zone.id === id);
  if (item === undefined) part.close();
  else open(item);
}

function open(item: Item): void {
  const at = shown.indexOf(item);
  const step = (text: string, to: Item | undefined): HTMLElement | undefined =>
    to === undefined || at < 0 ? undefined : element("a", { href: `#${to.zone.id}` }, text);
  const close = element("button", { type: "button", class: "close" }, "Close");
  close.addEventListener("click", () => part.close());
  part.replaceChildren(
    element(
      "header",
      {},
      element("h2", { id: "part-title" }, nameOf(item.zone)),
      element(
        "nav",
        { "aria-label": "Zones" },
        step("Previous", shown[at - 1]),
        step("Next", shown[at + 1]),
        close,
      ),
    ),
    zonePart(item.zone, head),
  );
  if (!part.open) part.showModal();
  part.scrollTop = 0;
}
