import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  startLocalApi,
  type Dialect,
  type Fault,
  type LocalApi,
  type LocalApiOptions,
  type ZoneName,
} from "edgeguard-local";
import { HIDDEN } from "../../provider/runtime/hidden";
import { kindOf } from "../../provider/runtime/type-tokens";
import { omit } from "../../provider/basics/json";
import { edgeguardResources, itAgrees, summaryOf, type Deployment, type Project } from "./engine";
import { LONG } from "./long";
import { mustSend, rawSend } from "./operation";
import { lagOf, plays, type Mode, type Play } from "./plays";
import { isWrite } from "./is-write";

/**
 * A scenario as data: programs in directories, steps, and what each step must show. It runs on every engine on this
 * machine, and all engines must send the same requests and record the same state.
 */
export interface Scenario {
  /** A sentence about behavior. */
  readonly title: string;
  /** The directory of the programs: `program/` is the first, and steps can switch to `program.<name>/`. */
  readonly folder: string;
  readonly zone?: ZoneName;
  readonly dialect?: Dialect;
  /** The dialects that its checks understand. Default: both. */
  readonly dialects?: readonly Dialect[];
  /** Further options of the local API. */
  readonly api?: LocalApiOptions;
  /** More stack configuration, in addition to zone, base URL and token. */
  readonly config?: Readonly<Record<string, string>>;
  /** Runs without a credential, as in a pull request from a fork. */
  readonly anonymous?: boolean;
  readonly steps: readonly Step[];
}

export type Step = EngineStep | EditStep | LookStep | { readonly fault: Fault } | AgeStep | AdvanceStep;

export interface EngineStep {
  readonly run: "preview" | "up" | "refresh" | "destroy";
  readonly args?: readonly string[];
  /** Switches to the program in `program.<name>` before the run. */
  readonly program?: string;
  /** The counts in the final summary. */
  readonly changes?: Readonly<Record<string, number>>;
  /** All requests except reads, in any order, such as `PUT /zones/{zone}/page_shield`. Default: none. */
  readonly writes?: readonly string[];
  /** All requests, if their number matters. */
  readonly requests?: number;
  /** Text that the output must contain. */
  readonly says?: readonly (string | RegExp)[];
  /** Text that the output must not contain. */
  readonly hides?: readonly string[];
  /** Default: 0. "failure" means any other code. */
  readonly code?: 0 | "failure";
  /** The differences if the API responds in another mode, or the program's classes are those of the plugin's SDK. */
  readonly in?: Partial<
    Record<Mode["name"] | "SDK", Pick<EngineStep, "changes" | "writes" | "requests" | "says" | "code">>
  >;
}

/**
 * A manual change in the dashboard or with curl. `{policy:<description>}` stands for a policy's ID, `{rule:<name>}` for
 * the ID of the managed rule whose ref ends in the name.
 */
export interface EditStep {
  readonly edit: string;
  readonly body?: unknown;
}

/** Makes the last write of KV entries look older, by changing its time in the state. */
export interface AgeStep {
  readonly ageSeconds: number;
}

/** Moves the local API's clock ahead, but not the engine's. */
export interface AdvanceStep {
  readonly advanceSeconds: number;
}

/** What a raw GET must at least return. */
export interface LookStep {
  readonly look: string;
  readonly result: unknown;
}

export const TOKEN = "local-token";

export function playScenario(scenario: Scenario): void {
  describe(scenario.title, () => {
    const recorded = new Map<string, unknown>();

    for (const each of plays(scenario)) {
      const played = async (): Promise<void> => {
        const state = await play(scenario, each);
        if (each.mode === undefined) recorded.set(each.title, state);
      };
      it(each.title, played, 180_000);
    }

    itAgrees(recorded, LONG);
  });
}

/** Runs all steps. Returns the state before the last destroy, without values that differ from run to run. */
async function play(scenario: Scenario, on: Play): Promise<unknown> {
  const api = await startLocalApi({
    ...scenario.api,
    ...(scenario.dialect === undefined ? {} : { dialect: scenario.dialect }),
    ...on.mode?.api,
  });
  const project = on.surface.project("scenario");
  const zone = api.zones[scenario.zone ?? "shop"];
  let state: unknown;
  try {
    project.program(join(scenario.folder, "program"));
    const own = Object.keys(scenario.config ?? {}).some((key) => key.startsWith("edgeguard:api"));
    if (scenario.anonymous !== true && !own) project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    await project.init({
      zoneId: zone,
      "edgeguard:accountId": api.accounts.main,
      "edgeguard:baseUrl": api.url,
      ...scenario.config,
    });
    for (const [index, step] of scenario.steps.entries()) {
      const place = `step ${index + 1} of ${scenario.steps.length}`;
      // Listings are outdated only between runs that follow each other directly; manual steps come later.
      if ("edit" in step || "look" in step || "ageSeconds" in step) api.advance(lagOf(on));
      if ("fault" in step) api.fault(step.fault);
      else if ("edit" in step) {
        await edit(api, zone, step);
        api.advance(lagOf(on));
      } else if ("ageSeconds" in step) await project.age(step.ageSeconds);
      else if ("advanceSeconds" in step) api.advance(step.advanceSeconds * 1000);
      else if ("look" in step)
        expect({
          place,
          // A sparse response omits an empty list.
          result: (await rawSend(api, "GET", await path(api, zone, step.look))).result ?? [],
        }).toMatchObject({ place, result: step.result });
      else {
        if (step.run === "destroy") state = normalized(await project.export(), zone);
        await playRun(scenario, project, api, zone, inMode(step, on), place);
      }
    }
    return state ?? normalized(await project.export(), zone);
  } finally {
    await api.close();
    project.remove();
  }
}

function inMode(step: EngineStep, { mode, surface }: Play): EngineStep {
  return {
    ...step,
    ...(mode === undefined ? {} : step.in?.[mode.name]),
    ...(surface.by === "SDK" ? step.in?.SDK : {}),
  };
}

async function playRun(
  scenario: Scenario,
  project: Project,
  api: LocalApi,
  zone: string,
  step: EngineStep,
  place: string,
): Promise<void> {
  if (step.program !== undefined) {
    const folder = join(scenario.folder, `program.${step.program}`);
    if (!existsSync(folder)) throw new Error(`${place}: there is no folder ${folder}`);
    project.program(folder);
  }
  api.clearRequests();
  const flags = step.run === "preview" ? [] : ["--yes", "--skip-preview"];
  const result = await project.run(step.run, ...flags, ...(step.args ?? []));
  const seen = {
    place,
    ended: result.code === 0 ? 0 : "failure",
    ...(step.changes === undefined ? {} : { changes: summaryOf(result.text) }),
    writes: api.requests
      .filter(isWrite)
      .map(
        (r) =>
          `${r.method} ${r.path
            .replace(zone, "{zone}")
            .replace(api.accounts.main, "{account}")
            .replace(/(?<!zones)\/[0-9a-f]{32}(?=\/|$)/g, "/{id}")}`,
      )
      .sort(),
    ...(step.requests === undefined ? {} : { requests: api.requests.length }),
  };
  const wanted = {
    place,
    ended: step.code ?? 0,
    ...(step.changes === undefined ? {} : { changes: step.changes }),
    writes: [...(step.writes ?? [])].sort(),
    ...(step.requests === undefined ? {} : { requests: step.requests }),
  };
  try {
    expect(seen).toEqual(wanted);
    for (const words of step.says ?? []) expect(result.text).toMatch(words);
    for (const words of [...(step.hides ?? []), TOKEN]) expect(result.text).not.toContain(words);
  } catch (error) {
    if (error instanceof Error) error.message += `\n\nWhat ${project.engine.name} printed:\n${result.text}`;
    throw error;
  }
}

async function edit(api: LocalApi, zone: string, step: EditStep): Promise<void> {
  const [method = "", where = ""] = step.edit.split(" ");
  await mustSend(api, method, await path(api, zone, where), step.body);
}

async function path(api: LocalApi, zone: string, where: string): Promise<string> {
  let full = where.replace("{zone}", zone).replace("{account}", api.accounts.main);
  const description = /\{policy:([^}]+)\}/.exec(full)?.[1];
  if (description !== undefined) {
    const { result } = await rawSend(api, "GET", `/zones/${zone}/page_shield/policies`);
    const found = (result as { id: string; description: string }[]).find(
      (p) => p.description === description,
    );
    if (found === undefined) throw new Error(`there is no policy ${description}`);
    full = full.replace(/\{policy:[^}]+\}/, found.id);
  }
  const name = /\{rule:([^}]+)\}/.exec(full)?.[1];
  if (name !== undefined) {
    const { result } = await rawSend(
      api,
      "GET",
      `/zones/${zone}/rulesets/phases/http_request_firewall_managed/entrypoint`,
    );
    const { rules } = result as { rules: { id: string; ref: string }[] };
    const found = rules.find(({ ref }) => ref.endsWith(`/${name}`));
    if (found === undefined) throw new Error(`there is no rule ${name}`);
    full = full.replace(/\{rule:[^}]+\}/, found.id);
  }
  return full;
}

/** The part of the state that all engines must record alike. IDs and times differ from run to run. */
function normalized(state: Deployment, zone: string): unknown {
  const text = JSON.stringify(
    [...edgeguardResources(state)].map(([name, r]) => ({
      name,
      type: kindOf(r.type),
      id: r.id,
      inputs: omit(r.inputs ?? {}, [HIDDEN.provider]),
      outputs: omit(r.outputs ?? {}, [HIDDEN.provider]),
      initErrors: r.initErrors ?? null,
    })),
  )
    .replaceAll(zone, "{zone}")
    .replace(/"[0-9a-f]{32}(\/[0-9a-f-]{36})?"/g, '"{id}"')
    .replace(/\b(rule|policy|job|namespace) [0-9a-f]{32}\b/g, "$1 {id}")
    .replace(/"ciphertext":"[^"]*"/g, '"ciphertext":"{secret}"')
    .replace(/"writtenAt":[\d.]+/g, '"writtenAt":"{time}"')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "{time}");
  return (JSON.parse(text) as { name: string }[]).sort((a, b) => (a.name < b.name ? -1 : 1));
}
