import { LOCAL_ENGINE, type Dialect, type LocalApiOptions } from "edgeguard-local";
import { LONG } from "./long";
import { surfaces, type Surface } from "./surfaces";

/** How the API responds while a scenario runs. */
export interface Mode {
  readonly name: "documented" | "documented, sparse" | "openapi" | "openapi, sparse" | "listings 5 s late";
  readonly api: LocalApiOptions;
}

const LATE_MS = 5_000;

const MODES: readonly Mode[] = [
  { name: "documented", api: { dialect: "documented" } },
  { name: "documented, sparse", api: { dialect: "documented", sparse: true } },
  { name: "openapi", api: { dialect: "openapi" } },
  { name: "openapi, sparse", api: { dialect: "openapi", sparse: true } },
  { name: "listings 5 s late", api: { listLagMs: LATE_MS } },
];

/** One way to run a scenario. */
export interface Play {
  readonly title: string;
  readonly surface: Surface;
  /** Not set if the API responds as the scenario says. */
  readonly mode?: Mode;
}

export interface PlayOptions {
  /** The scenario's own dialect. */
  readonly dialect?: Dialect | undefined;
  /** Dialects that the scenario's own checks understand. Default: both. */
  readonly dialects?: readonly Dialect[] | undefined;
}

/** Runs the scenario as written on every surface, and the classes on the local engine in every other mode of the API. */
export function plays({ dialect = "openapi", dialects }: PlayOptions = {}): Play[] {
  const own = surfaces().map((surface): Play => ({ title: `on ${surface.name}`, surface }));
  const others = MODES.filter(({ name, api }) => {
    const understood = api.dialect === undefined || dialects?.includes(api.dialect) !== false;
    const wanted = LONG;
    return understood && wanted && name !== dialect;
  });
  const local = own.filter(({ surface }) => surface.engine === LOCAL_ENGINE && surface.by === "classes");
  const further = local.flatMap(({ surface }) =>
    others.map((mode): Play => ({ title: `on ${surface.name} (${mode.name})`, surface, mode })),
  );
  return [...own, ...further];
}

/** How far the API's clock has to move ahead until listings show earlier writes. */
export function lagOf({ mode }: { readonly mode?: Mode | undefined }): number {
  return mode?.api.listLagMs ?? 0;
}
