import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { stringsIn } from "../../../provider/api/redact";
import { REGISTER } from "../../../provider/register";
import { report, reportDrift } from "../../../provider/report";
import { namesOfSecrets } from "../../../provider/runtime/secrets";
import { isJsonObject, omit, type JsonObject } from "../../../provider/basics/json";
import * as rpc from "@pulumi/pulumi/proto/provider_pb";
import { PluginClient, secret, struct } from "../../plugin/client";
import { pluginVerbs } from "../../plugin/verbs";
import { LONG } from "../../support/long";
import { Operation, type Recorded } from "../../support/operation";
import type { ResourceName } from "../../support/permissions-markdown";
import { FailingApi, failuresOf, type Plan } from "./failures";
import { OTHERS, prepare, rowsOf, TEXTS, type Row } from "./rows";

/**
 * Whatever a response repeats, no message, debug line, plan or report shows an argument that the program made secret, and
 * no state records it in plain text: neither the program's value nor that of an existing object.
 */

const FOLDER = mkdtempSync(join(tmpdir(), "edgeguard-leaks-"));
const FAILURES = failuresOf(TEXTS);
/** The normal run takes every so many cells. */
const EVERY = LONG ? 1 : 71;

let api: LocalApi;
let failing: FailingApi;
let plugin: PluginClient;
let rows: readonly Row[];
let untouched: ReturnType<LocalApi["snapshot"]>;
const cells = { run: 0, requests: 0 };

beforeAll(async () => {
  api = await startLocalApi();
  failing = await FailingApi.inFrontOf(api);
  // The plugin waits in no time, as the classes do.
  const NODE_OPTIONS = `--require ${resolve(__dirname, "../../support/scaled-time.cjs")}`;
  plugin = await PluginClient.start({}, { env: { EDGEGUARD_DEBUG: "1", NODE_OPTIONS, TIME_SCALE: "500" } });
  await prepare(api, FOLDER);
  rows = await rowsOf(api, FOLDER);
  untouched = api.snapshot();
});
afterAll(async () => {
  if (LONG) console.log(`${cells.run} cells, of ${rows.length} arguments; ${cells.requests} requests`);
  plugin.stop();
  failing.close();
  await api.close();
  rmSync(FOLDER, { recursive: true });
});

const CONFIG = { "edgeguard:maxRetries": "0" };
/** Each cell has a token, and so a rate budget, of its own. */
const ownToken = (): string => `local-token-${cells.run}`;
const DEBUG = { EDGEGUARD_DEBUG: "1" };

interface Surface {
  readonly operation: Operation;
  /** Everything that it said and recorded in plain text so far. */
  readonly lines: () => readonly string[];
  /** Adds what the engine records, without what it encrypts. */
  readonly record: (outputs: unknown) => void;
}

type Starts = (row: Row) => Promise<Surface>;

/** The classes' provider, in this process. */
const classes: Starts = (row) => {
  const operation = new Operation(failing, {
    config: { ...CONFIG, "edgeguard:apiToken": ownToken() },
    env: DEBUG,
    inNoTime: api,
  });
  const recorded: string[] = [];
  return Promise.resolve({
    operation,
    lines: () => [...operation.said, ...operation.warned, ...recorded],
    record: (outputs) => void recorded.push(recordedText(row, outputs)),
  });
};

/** The provider plugin, in its own process. The engine encrypts what the plugin marks. */
const throughPlugin: Starts = async ({ type }) => {
  const settings = { baseUrl: failing.url, apiToken: secret(ownToken()), maxRetries: "0" };
  await plugin.call("configure", new rpc.ConfigureRequest().setArgs(struct(settings)).setName("default"));
  const recorded: string[] = [];
  const [shown, printed] = [plugin.shown.length, plugin.printed.length];
  const types = { [type]: pluginVerbs(plugin, type, (text) => recorded.push(text)) };
  return {
    operation: new Operation(failing, { types }),
    lines: () => [plugin.shown.slice(shown), plugin.printed.slice(printed), ...recorded],
    record: () => {},
  };
};

/** What a state shows of the outputs of a dynamic resource: all but those that the class makes secret. */
function recordedText({ type, args }: Row, outputs: unknown): string {
  if (!isJsonObject(outputs)) return "";
  const { secret = {}, secretOutputs = [] } = REGISTER[type]?.facts ?? {};
  const hidden = [...Object.keys(secret), ...namesOfSecrets(args), ...secretOutputs];
  return JSON.stringify(omit(outputs, [...hidden, ...derivedFromSecrets(type, args)]));
}

function derivedFromSecrets(type: string, args: JsonObject): string[] {
  const { secret = {}, derivedFrom = {} } = REGISTER[type]?.facts ?? {};
  const names = [...Object.keys(secret), ...namesOfSecrets(args)];
  return Object.entries(derivedFrom).flatMap(([name, from]) =>
    from.some((each) => names.includes(each)) ? [name] : [],
  );
}

/** The reports on a plan made with --show-secrets. */
function reportsOn({ type }: Row, steps: readonly JsonObject[], said: readonly string[]): string[] {
  const urn = `urn:pulumi:dev::shop::pulumi-nodejs:dynamic/edgeguard:${type}::it`;
  const diagnostics = said.map((message) => ({ urn, message: `edgeguard: ${message}`, severity: "info" }));
  const plan = JSON.stringify({ steps: steps.map((step) => ({ urn, ...step })), diagnostics });
  const written = [report(plan, "markdown").text, report(plan, "json").text];
  return steps.some(({ op }) => op === "refresh")
    ? [...written, reportDrift([{ name: "plan", text: plan }], "markdown").text]
    : written;
}

/** An operation on a resource, and what it starts with. */
interface Act {
  readonly starts: "nothing" | "made" | "made, then changed by hand" | "someone else's";
  run(row: Row, surface: Surface, made: Recorded): Promise<readonly string[]>;
}

/** A side of a plan with --show-secrets. An engine marks what derives from a secret; the rest is the hardest case. */
function side({ args, type }: Row, { id, inputs, outputs = {} }: Partial<Recorded>): JsonObject {
  const marked = (bag: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(bag).map(([name, value]) => [
        name,
        derivedFromSecrets(type, args).includes(name) ? { ...secret("[secret]"), plaintext: value } : value,
      ]),
    );
  return { id, inputs: marked(inputs ?? {}), outputs: marked(outputs) };
}

const adopting = (adopt: string): Act => ({
  starts: "someone else's",
  async run(row, { operation, record }) {
    const { inputs } = await operation.preview(row.type, { ...row.args, adopt });
    record(inputs);
    const made = await operation.create(row.type, inputs);
    record(made.outputs);
    return reportsOn(row, [{ op: "create", newState: side(row, { inputs }) }], operation.said);
  },
});

const ACTS: Readonly<Record<string, Act>> = {
  check: {
    starts: "nothing",
    async run(row, { operation, record }) {
      const { inputs } = await operation.preview(row.type, row.args);
      record(inputs);
      return reportsOn(row, [{ op: "create", newState: side(row, { inputs }) }], operation.said);
    },
  },
  "check of a change": {
    starts: "made",
    async run(row, { operation, record }, made) {
      const { inputs } = await operation.preview(row.type, row.changed, made);
      record(inputs);
      const step = { op: "update", oldState: side(row, made), newState: side(row, { inputs }) };
      return reportsOn(row, [step], operation.said);
    },
  },
  create: {
    starts: "nothing",
    async run({ type, args }, { operation, record }) {
      record((await operation.up(type, args)).outputs);
      return [];
    },
  },
  update: {
    starts: "made",
    async run({ type, changed }, { operation, record }, made) {
      const { inputs } = await operation.check(type, changed, made);
      record((await operation.update(type, inputs, made)).outputs);
      return [];
    },
  },
  refresh: {
    starts: "made, then changed by hand",
    async run(row, { operation, record }, made) {
      const now = await operation.refresh(row.type, made);
      if (now === undefined) return [];
      record(now.outputs);
      record(now.inputs);
      const { inputs } = await operation.preview(row.type, row.args, now);
      const steps = [
        { op: "refresh", oldState: side(row, made), newState: side(row, now) },
        { op: "update", oldState: side(row, now), newState: side(row, { inputs }) },
      ];
      return reportsOn(row, steps, operation.said);
    },
  },
  import: {
    starts: "made, then changed by hand",
    async run(row, { operation }, made) {
      // Only what's always secret is a secret of an object that no program declares.
      await operation.get(row.type, row.importId(made.id));
      return [];
    },
  },
  'adopt: "ifEqual"': adopting("ifEqual"),
  'adopt: "takeOver"': adopting("takeOver"),
  'adopt: "never"': adopting("never"),
  destroy: {
    starts: "made, then changed by hand",
    async run({ type }, { operation }, made) {
      await operation.destroy(type, made);
      return [];
    },
  },
};

/** The states that acts start with, by row. */
const starts = new Map<Row, Promise<{ readonly made: Recorded; readonly by: Map<Act["starts"], object> }>>();

async function startOf(row: Row, act: Act): Promise<Recorded> {
  let known = starts.get(row);
  if (known === undefined) {
    known = (async () => {
      api.restore(untouched);
      await row.before();
      const nothing = api.snapshot();
      const by = new Map<Act["starts"], ReturnType<LocalApi["snapshot"]>>([["nothing", nothing]]);
      const made = await new Operation(api, { config: CONFIG, inNoTime: api }).up(row.type, row.args);
      api.advance(120_000);
      by.set("made", api.snapshot());
      await row.twin(made);
      by.set("made, then changed by hand", api.snapshot());
      api.restore(nothing);
      await row.twin();
      by.set("someone else's", api.snapshot());
      return { made, by };
    })();
    starts.set(row, known);
  }
  const { made, by } = await known;
  const snapshot = by.get(act.starts);
  if (snapshot === undefined) throw new Error(`no such start: ${act.starts}`);
  api.restore(snapshot as ReturnType<LocalApi["snapshot"]>);
  return made;
}

/** Runs one cell of the matrix. Returns everything that it says and records, and how many requests it sent. */
async function cell(
  row: Row,
  act: Act,
  start: Starts,
  plan?: Plan,
): Promise<{ readonly lines: readonly string[]; readonly requests: number }> {
  const made = await startOf(row, act);
  const surface = await start(row);
  const lines: string[] = [];
  const requests = await failing.during(plan, async () => {
    try {
      lines.push(...(await act.run(row, surface, made)));
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      surface.record(Reflect.get(error, "properties"));
      lines.push(error.message, error.stack ?? "", ...stringsIn(Reflect.get(error, "reasons")));
    }
  });
  await surface.operation.host.close();
  cells.run += 1;
  cells.requests += requests;
  return { lines: [...lines, ...surface.lines()], requests };
}

/** A canary as a text may contain it, or a part of it that's long enough to be recognized. */
function spellingsOf(canary: string): readonly string[] {
  if (!TEXTS.includes(canary)) return [canary];
  const whole = [canary, canary.toLowerCase(), Buffer.from(canary).toString("base64").slice(0, 20)];
  return whole.flatMap((each) => Array.from({ length: each.length - 7 }, (_, at) => each.slice(at, at + 8)));
}

/** Where the lines show a canary. */
function leaksIn(lines: readonly string[], canaries: readonly string[]): string[] {
  return canaries.flatMap((canary) => {
    for (const spelling of spellingsOf(canary))
      for (const line of lines) {
        const at = line.indexOf(spelling);
        if (at >= 0) return [`${spelling} in …${line.slice(Math.max(0, at - 300), at + 100)}`];
      }
    return [];
  });
}

const SURFACES: Readonly<Record<string, Starts>> = { classes, plugin: throughPlugin };
const TYPES = Object.keys(REGISTER) as ResourceName[];

describe.each(Object.keys(SURFACES))("on the %s", (surface) => {
  const start = SURFACES[surface] ?? classes;
  describe.each(TYPES)("%s", (type) => {
    test.each(Object.keys(ACTS))(
      `no %s leaks a secret argument${LONG ? "" : " (a sample)"}`,
      async (name) => {
        const act = ACTS[name];
        if (act === undefined) throw new Error(`no act ${name}`);
        const own = rows.filter((row) => row.type === type);
        const leaks: string[] = [];
        let number = TYPES.indexOf(type) * 7 + Object.keys(ACTS).indexOf(name) * 3;
        const canAdopt = own.some(({ args }) => "adopt" in (REGISTER[type]?.facts.args.shape ?? args));
        for (const row of name.startsWith("adopt") && !canAdopt ? [] : own) {
          const isAlways = !("__secrets" in row.args);
          const canaries = [
            ...Object.values(OTHERS),
            ...(name === "import" && !isAlways ? [] : row.canaries),
          ];
          const search = (what: string, lines: readonly string[]): void => {
            for (const leak of leaksIn(lines, canaries)) leaks.push(`${row.argument}, ${what}: ${leak}`);
          };
          let requests: number | undefined;
          for (const [kind, failure] of FAILURES) {
            number += 1;
            if (number % EVERY !== 0) continue;
            if (requests === undefined) {
              const { lines, requests: sent } = await cell(row, act, start);
              search("without a failure", lines);
              requests = sent;
            }
            if (requests === 0) continue;
            // One request fails, another one in each cell, or all from there on.
            const at = number % requests;
            const fails = (request: number): boolean => request === at || (request > at && number % 2 === 0);
            const { lines } = await cell(row, act, start, { failure, fails });
            search(`${kind} to request ${at} of ${requests}`, lines);
          }
        }
        expect(leaks).toEqual([]);
      },
      LONG ? 3_600_000 : 60_000,
    );
  });
});
