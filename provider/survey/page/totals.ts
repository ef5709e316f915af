import type { Counts } from "../counts";
import type { Head } from "../model";
import { amount, counted } from "./cells";
import { CHARTS, type Chart } from "./charts";
import { barOf, element } from "./dom";

/** The charts with totals. Their bars are buttons that filter the zones. */

/** The counts by chart. */
export type Sums = Readonly<Record<string, Counts>>;

interface DrawnChart {
  readonly chart: Chart;
  readonly card: HTMLElement;
  /** Shows which bars are chosen as filters, and how much of each bar matches the filters. */
  readonly update: (left: Counts, chosen: ReadonlySet<string> | undefined, isFiltered: boolean) => void;
}

/** Creates the charts for which this survey has totals. */
export function chartsOf(head: Head, choose: (chart: Chart, bar: string) => void): readonly DrawnChart[] {
  const totals: Sums = { ...head.totals, tasks: head.taskCounts };
  return CHARTS.flatMap((chart) => {
    const wholes = totals[chart.id];
    return wholes === undefined ? [] : [drawn(chart, wholes, (bar) => choose(chart, bar))];
  });
}

function drawn(chart: Chart, wholes: Counts, choose: (bar: string) => void): DrawnChart {
  const sum = Object.values(wholes).reduce((a, b) => a + b, 0);
  const most = Math.max(1, ...Object.values(wholes));
  // What is good or bad is also said where it's none.
  const names = Object.keys(chart.bars).filter(
    (bar) => chart.bars[bar]?.[1] !== undefined || (wholes[bar] ?? 0) > 0,
  );
  const bars = names.map((bar) => {
    const whole = wholes[bar] ?? 0;
    const [label, tone] = chart.bars[bar] ?? [bar];
    const { svg, fill } = barOf(whole / most);
    const number = element("span", { class: "count" });
    const button = element(
      "button",
      { type: "button", class: whole > 0 ? tone : undefined },
      element("span", { class: "label" }, label),
      " ",
      svg,
      number,
    );
    button.addEventListener("click", () => choose(bar));
    const update: DrawnChart["update"] = (left, chosen, isFiltered) => {
      const part = isFiltered ? (left[bar] ?? 0) : whole;
      fill(part / most);
      number.textContent = isFiltered ? `${amount(part)} of ${amount(whole)}` : amount(whole);
      button.setAttribute("aria-pressed", String(chosen?.has(bar) === true));
    };
    return { button, update };
  });
  const card = element(
    "section",
    { class: "card", "data-chart": chart.id },
    // A zone may have several tasks, so their sum says nothing.
    element(
      "h3",
      {},
      chart.title,
      " ",
      element("span", { class: "muted" }, chart.id === "tasks" ? "zones" : counted(sum, chart.unit)),
    ),
    element("ul", { "aria-label": chart.title }, ...bars.map(({ button }) => element("li", {}, button))),
  );
  return { chart, card, update: (...state) => bars.forEach(({ update }) => update(...state)) };
}
