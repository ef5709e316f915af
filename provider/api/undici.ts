import type * as Undici from "undici";

/**
 * The HTTP library, loaded at the first request: a program that only declares resources, and a preview of a stack that did
 * not change, send none, and need not wait a tenth of a second for it.
 */
export function undici(): typeof Undici {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would load it at every start
  return require("undici") as typeof Undici;
}
