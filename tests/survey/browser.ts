import { runInNewContext } from "node:vm";

/** An element as survey.html's script uses it: it keeps what it's given, and nothing is drawn. */
class FakeElement {
  readonly attributes = new Map<string, string>();
  readonly style = {};
  readonly listeners: Record<string, () => void> = {};
  children: (FakeElement | string)[] = [];
  open = false;
  value = "";

  constructor(readonly tag: string) {}

  get textContent(): string {
    const texts = this.children.map((each) =>
      typeof each === "string" ? each : each.tag === "wbr" ? "wbr" : each.textContent,
    );
    return texts.join("\n").replaceAll("\nwbr\n", "");
  }
  set textContent(text: string) {
    this.children = [text];
  }
  append(...children: readonly (FakeElement | string)[]): void {
    this.children.push(...children);
  }
  replaceChildren(...children: readonly (FakeElement | string)[]): void {
    this.children = [...children];
  }
  setAttribute(name: string, value: string): void {
    this.attributes.set(name, value);
  }
  removeAttribute(name: string): void {
    this.attributes.delete(name);
  }
  addEventListener(event: string, listener: () => void): void {
    this.listeners[event] = listener;
  }
  showModal(): void {
    this.open = true;
  }
  close(): void {
    this.open = false;
  }
  remove(): void {}

  /** All elements with this tag in this element, at any depth. */
  all(tag: string): FakeElement[] {
    const inside = this.children.flatMap((each) => (typeof each === "string" ? [] : each.all(tag)));
    return this.tag === tag ? [this, ...inside] : inside;
  }
}

/** A survey.html whose script runs, without a browser. How it looks in one: `npm run look:survey --prefix docs`. */
export class OpenedPage {
  readonly body = new FakeElement("body");
  readonly #listeners: Record<string, () => void> = {};
  readonly #location = { hash: "", pathname: "", search: "" };

  constructor(html: string) {
    const data = [...html.matchAll(/<script type="application\/json" id="(\w+)">(.*?)<\/script>/gs)];
    const texts = new Map(data.map(([, id = "", json = ""]) => [id, { textContent: json }]));
    const script = html.slice(
      html.lastIndexOf("<script>") + "<script>".length,
      html.lastIndexOf("</script>"),
    );
    const make = (tag: string): FakeElement => new FakeElement(tag);
    runInNewContext(script, {
      document: {
        body: this.body,
        createElement: make,
        createElementNS: (_: string, tag: string) => make(tag),
        getElementById: (id: string) => texts.get(id) ?? null,
      },
      location: this.#location,
      addEventListener: (event: string, listener: () => void) => (this.#listeners[event] = listener),
      IntersectionObserver: class {
        observe(): void {}
        unobserve(): void {}
        disconnect(): void {}
      },
    });
  }

  /** Opens a zone, and returns the dialog with its details. */
  zone(id: string): FakeElement {
    this.#location.hash = `#${id}`;
    this.#listeners["hashchange"]?.();
    const [dialog] = this.body.all("dialog");
    if (dialog?.open !== true) throw new Error(`the page doesn't open zone ${id}`);
    return dialog;
  }
}
