import { visible } from "../../basics/printable";

/**
 * Creates elements without parsing markup, so that the content of zones, hosts and expressions is always shown as text.
 */

export type Child = Node | string | undefined;
type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

const SVG = "http://www.w3.org/2000/svg";

/**
 * Creates an element with its attributes and children. `true` sets an empty attribute; `undefined` and `false` don't
 * set one.
 */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(name), attributes, children);
}

export interface Bar {
  readonly svg: SVGSVGElement;
  /** Changes how much of the bar is filled. */
  readonly fill: (share: number) => void;
}

/** Creates a chart's bar. */
export function barOf(share: number): Bar {
  const rect = (name: string): SVGRectElement =>
    filled(document.createElementNS(SVG, "rect"), { class: name, height: "100%", rx: 2 }, []);
  const resize = (shape: SVGRectElement, to: number): void =>
    // A bar of one zone among thousands is still to be seen.
    shape.setAttribute("width", `${to > 0 ? Math.max(to * 100, 1).toFixed(2) : 0}%`);
  const [track, whole, part] = [rect("track"), rect("whole"), rect("part")];
  resize(track, 1);
  resize(whole, share);
  const svg = filled(
    document.createElementNS(SVG, "svg"),
    { class: "bar", "aria-hidden": "true", focusable: "false" },
    [track, whole, part],
  );
  return { svg, fill: (to) => resize(part, to) };
}

/** Fills a list with its first items, and returns it with a button that adds the others. */
export function cutList<T>(
  list: HTMLElement,
  items: readonly T[],
  most: number,
  make: (item: T) => HTMLElement,
): readonly Child[] {
  list.append(...items.slice(0, most).map(make));
  if (items.length <= most) return [list];
  const text = `Show all ${items.length.toLocaleString("en")}`;
  const more = element("button", { type: "button", class: "more" }, text);
  more.addEventListener("click", () => {
    const added = items.slice(most).map(make);
    list.append(...added);
    more.remove();
    added[0]?.querySelector<HTMLElement>("a, summary")?.focus();
  });
  return [list, more];
}

/** Creates an element that makes its content when it's opened. */
export function opened(summary: string, make: () => readonly Child[]): HTMLElement {
  const details = element("details", {}, element("summary", {}, summary));
  details.addEventListener("toggle", () => filled(details, {}, make()), { once: true });
  return details;
}

/** Creates a link if the address is an HTTPS URL. Otherwise returns only the text. */
export function link(text: string, address: string): HTMLElement {
  if (!address.startsWith("https://")) return element("span", {}, text);
  return element("a", { href: address, rel: "noreferrer noopener", target: "_blank" }, text);
}

function filled<E extends Element>(node: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : String(value));
  for (const child of children)
    node.append(...(typeof child === "string" ? breakable(visible(child)) : child ? [child] : []));
  return node;
}

/** Lets a line break after the dots and slashes of a name or URL, so that it needn't break inside a word. */
function breakable(text: string): (Node | string)[] {
  const [first = "", ...others] = text.split(/(?<=\w[._/?&=])(?=\w)/);
  return [first, ...others.flatMap((part) => [document.createElement("wbr"), part])];
}
