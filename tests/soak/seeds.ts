import type { LocalApi } from "edgeguard-local";
import { derive } from "./derive";
import { programFor, type GeneratorContext } from "./generate";
import type { Program } from "./program";
import { Random } from "./random";
import type { Catalog } from "./environment";

export const SEEDS = 200;

export function generatorContext(
  seed: number,
  { zones, accounts }: Pick<LocalApi, "zones" | "accounts">,
  catalog: Catalog,
  othersNamespaces: readonly string[],
): GeneratorContext {
  const made = { canaries: [], files: {}, used: new Set<string>(), count: 0 };
  return { random: new Random(seed), zones, accounts, catalog, othersNamespaces, ...made };
}

/** A program, and the next version of it. */
export function programsOf(generator: GeneratorContext): readonly [Program, Program] {
  const first = programFor(generator);
  return [first, derive(generator, first)];
}
