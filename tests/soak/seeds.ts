import type { LocalApi } from "edgeguard-local";
import { derive } from "./derive";
import { programFor, type World } from "./generate";
import type { Program } from "./program";
import { Random } from "./random";
import type { Catalog } from "./environment";

export const SEEDS = 200;

export function worldFor(
  seed: number,
  { zones, accounts }: Pick<LocalApi, "zones" | "accounts">,
  catalog: Catalog,
  othersNamespaces: readonly string[],
): World {
  const made = { canaries: [], files: {}, used: new Set<string>(), count: 0 };
  return { random: new Random(seed), zones, accounts, catalog, othersNamespaces, ...made };
}

/** A program, and the next version of it. */
export function programsOf(world: World): readonly [Program, Program] {
  const first = programFor(world);
  return [first, derive(world, first)];
}
