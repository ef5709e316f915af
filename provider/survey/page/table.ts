import { element } from "./dom";

/**
 * Shows a table with thousands of rows. Groups of rows are in the document only while they're near the viewport, have
 * the focus or are printed; otherwise, an empty row of the same height replaces each group. The first group always
 * stays in the document, so that screen readers find rows in the table.
 */

const GROUP = 50;
/** The distance from the viewport at which rows are added, before the user scrolls to them. */
const MARGIN = "1500px 0px";

interface Group<T> {
  readonly first: number;
  readonly items: readonly T[];
  isFilled: boolean;
}

export class Rows<T> {
  readonly #table: HTMLTableElement;
  readonly #rowOf: (item: T, index: number) => HTMLTableRowElement;
  readonly #groups = new Map<Element, Group<T>>();
  readonly #observer: IntersectionObserver;

  constructor(table: HTMLTableElement, rowOf: (item: T, index: number) => HTMLTableRowElement) {
    this.#table = table;
    this.#rowOf = rowOf;
    this.#observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries)
          if (isIntersecting) this.#fill(target);
          else if (!target.contains(document.activeElement)) this.#empty(target);
      },
      { rootMargin: MARGIN },
    );
    addEventListener("beforeprint", () => {
      for (const body of this.#groups.keys()) this.#fill(body);
    });
    addEventListener("afterprint", () => {
      for (const body of this.#groups.keys()) this.#watch(body);
    });
  }

  /** Replaces the rows. The first group is in the document immediately. */
  show(items: readonly T[]): void {
    this.#observer.disconnect();
    for (const body of this.#groups.keys()) body.remove();
    this.#groups.clear();
    for (let first = 0; first < items.length; first += GROUP) {
      const body = element("tbody");
      this.#groups.set(body, { first, items: items.slice(first, first + GROUP), isFilled: false });
      this.#empty(body);
      if (first === 0) this.#fill(body);
    }
    this.#table.append(...this.#groups.keys());
    for (const body of this.#groups.keys()) this.#watch(body);
    // Including the header.
    this.#table.setAttribute("aria-rowcount", String(items.length + 1));
  }

  /** Observes a group again, so that the observer reports its current position once. */
  #watch(body: Element): void {
    this.#observer.unobserve(body);
    this.#observer.observe(body);
  }

  #fill(body: Element): void {
    const group = this.#groups.get(body);
    if (group === undefined || group.isFilled) return;
    group.isFilled = true;
    body.replaceChildren(...group.items.map((item, index) => this.#rowOf(item, group.first + index)));
  }

  #empty(body: Element): void {
    const group = this.#groups.get(body);
    if (group === undefined || group.first === 0) return;
    group.isFilled = false;
    // A cell across all columns would add some where the screen is too narrow for all of them.
    const space = element("td");
    space.style.height = `calc(${group.items.length} * var(--row))`;
    body.replaceChildren(element("tr", { class: "space", "aria-hidden": "true" }, space));
  }
}
