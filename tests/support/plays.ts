import { LOCAL_ENGINE, type Dialect, type EngineCommand, type LocalApiOptions } from "edgeguard-local";
import { engines } from "./engine";
import { LONG } from "./long";

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

/** One way to play a story. */
export interface Play {
  readonly title: string;
  readonly engine: EngineCommand;
  /** Whether the provider plugin does the work, over gRPC. */
  readonly throughPlugin?: boolean;
  /** Absent where the API responds as in the scenario. */
  readonly mode?: Mode;
}

export interface PlayOptions {
  /** The story's own dialect. */
  readonly dialect?: Dialect | undefined;
  /** Dialects that the story's own looks understand. Default: both. */
  readonly dialects?: readonly Dialect[] | undefined;
}

/** On every engine of the machine as the story has it; in every other mode of the API on the local engine. */
export function plays({ dialect = "openapi", dialects }: PlayOptions = {}): Play[] {
  const own = engines().map((engine): Play => ({ title: `on ${engine.name}`, engine }));
  const others = MODES.filter(({ name, api }) => {
    const understood = api.dialect === undefined || dialects?.includes(api.dialect) !== false;
    const wanted = LONG;
    return understood && wanted && name !== dialect;
  });
  const further = others.map((mode): Play => ({
    title: `on ${LOCAL_ENGINE.name} (${mode.name})`,
    engine: LOCAL_ENGINE,
    mode,
  }));
  const throughPlugin: Play = {
    title: `on ${LOCAL_ENGINE.name}, through the provider plugin`,
    engine: LOCAL_ENGINE,
    throughPlugin: true,
  };
  return [...own, ...further, ...(LONG ? [throughPlugin] : [])];
}

/** How far the API's clock has to move ahead for a listing to show what was done before. */
export function lagOf({ mode }: { readonly mode?: Mode | undefined }): number {
  return mode?.api.listLagMs ?? 0;
}
