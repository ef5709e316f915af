import { coversAddress, NETWORK_SCHEMES, parseAddress, type Address } from "./csp";

/** A source with its address, parsed once because it's compared with many others. */
interface Source {
  readonly text: string;
  readonly address: Address | undefined;
}

function parsed(text: string): Source {
  return { text, address: text.startsWith("'") ? undefined : parseAddress(text) };
}

/** Returns whether one of many sources allows everything that another source allows. */
export function coverage(sources: Iterable<string>): (text: string) => boolean {
  const texts = new Set(sources);
  const all = [...texts].map(parsed);
  return (text) => {
    const narrow = parsed(text);
    return texts.has(text) || all.some((wide) => covers(wide, narrow));
  };
}

/** Whether `wide` allows everything that `narrow` allows. */
function covers({ text: wide, address: a }: Source, { text: narrow, address: b }: Source): boolean {
  if (wide === "'unsafe-eval'") return narrow === "'wasm-unsafe-eval'";
  // `*` allows every network address on every port, including the page's own.
  if (wide === "*") return narrow === "'self'" || isNetworkAddress(b);
  return a !== undefined && b !== undefined && coversAddress(a, b);
}

function isNetworkAddress(address: Address | undefined): boolean {
  return address !== undefined && (address.scheme === undefined || NETWORK_SCHEMES.includes(address.scheme));
}
