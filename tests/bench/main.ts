import { join } from "node:path";
import { runtime } from "@pulumi/pulumi";
import { LOCAL_ENGINE, startLocalApi } from "edgeguard-local";
import { Agent, request } from "undici";
import { z } from "zod";
import { EdgeApi } from "../../provider/api/client";
import { RateBudget } from "../../provider/api/rate-budget";
import { forwarder } from "../../provider/runtime/forwarder";
import { Project } from "../support/engine";
import { cli } from "./cli";
import { docs } from "./docs";
import { kv } from "./kv";
import { longInputs } from "./long-inputs";
import { plugin } from "./plugin";
import { survey } from "./survey";
import { median, print, type Row } from "./table";
import { testing } from "./testing";

/** Measures costs as ratios to an alternative or a bound, in the same run: `npm run bench`, `-- --json`, `-- --long`. */

type Verbs = Readonly<Record<string, (...args: unknown[]) => unknown>>;

const QUIET = { info: () => undefined, warn: () => undefined, debug: () => undefined };
const RUN_BOUND_SECONDS = 2.5;

async function client(): Promise<Row> {
  const api = await startLocalApi();
  const edge = new EdgeApi({
    baseUrl: api.url,
    credential: { kind: "token", token: "local-token", origin: "bench" },
    budget: new RateBudget([{ requests: 1e9, ms: 1000 }]),
    log: QUIET,
  });
  const agent = new Agent({ connections: 8, pipelining: 1 });
  const path = `/zones/${api.zones.shop}/page_shield`;
  const many = async (one: () => Promise<unknown>): Promise<void> => {
    for (let i = 0; i < 300; i += 1) await one();
  };
  const ours = (): Promise<void> =>
    many(() => edge.get(path, { what: "Reading", schema: z.looseObject({ enabled: z.boolean() }) }));
  const theirs = (): Promise<void> =>
    many(async () =>
      (
        await request(api.url + path, { dispatcher: agent, headers: { authorization: "Bearer local-token" } })
      ).body.json(),
    );
  await ours();
  await theirs();
  const row = {
    what: "a GET through the client",
    ours: (await median(5, ours)) / 300,
    unit: "ms",
    against: "undici alone",
    theirs: (await median(5, theirs)) / 300,
  };
  await Promise.all([edge.close(), agent.close(), api.close()]);
  return row;
}

async function state(): Promise<Row[]> {
  const type = "PageShieldPolicy";
  // The same forwarding as a provider object, which the SDK serializes on every run.
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- what a closure in state has to do
  const load = (): Verbs => require("pulumi-edgeguard/runtime") as Verbs;
  const provider = Object.fromEntries(
    ["configure", "check", "diff", "create", "read", "update", "delete"].map((verb) => [
      verb,
      (...args: unknown[]) => load()[verb]?.(type, ...args),
    ]),
  );
  const serialize = async (): Promise<string> => (await runtime.serializeFunction(() => provider)).text;
  const text = await serialize();
  return [
    {
      what: "text in state per resource",
      ours: Buffer.byteLength(forwarder(type)),
      unit: "bytes",
      against: "a serialized closure",
      theirs: Buffer.byteLength(text),
    },
    {
      what: "making that text",
      ours: await median(20, async () => Promise.resolve(forwarder(type))),
      unit: "ms",
      against: "serializing it",
      theirs: await median(20, serialize),
    },
  ];
}

async function runs(): Promise<Row[]> {
  const api = await startLocalApi();
  const project = new Project(LOCAL_ENGINE, "bench");
  project.env = { CLOUDFLARE_API_TOKEN: "local-token" };
  project.program(join(__dirname, "../scenarios/lifecycle/program"));
  await project.init({ zoneId: api.zones.empty, "edgeguard:baseUrl": api.url });
  const preview = await median(3, () => project.ok("preview"));
  await project.ok("up", "--yes", "--skip-preview");
  api.clearRequests();
  const unchanged = await median(3, () => project.ok("preview", "--expect-no-changes"));
  const asked = api.requests.length;
  await api.close();
  project.remove();
  return [
    {
      what: "a preview on the local engine",
      ours: preview / 1000,
      unit: "s",
      against: "the bound",
      theirs: RUN_BOUND_SECONDS,
      atMost: 1,
    },
    {
      what: "an unchanged preview",
      ours: unchanged / 1000,
      unit: "s",
      against: "the bound",
      theirs: RUN_BOUND_SECONDS,
      atMost: 1,
    },
    {
      what: "requests of 3 unchanged previews",
      ours: asked,
      unit: "requests",
      against: "a read per resource",
      theirs: 6,
      atMost: 0,
    },
  ];
}

async function main(): Promise<void> {
  const long = process.argv.includes("--long");
  const rows = [
    await client(),
    ...(await state()),
    ...(await runs()),
    ...(await testing()),
    ...(await kv({ long })),
    ...(await cli()),
    ...(await plugin()),
    ...(await survey()),
    ...(await longInputs()),
    ...(await docs()),
  ];
  print(rows, process.argv.includes("--json"));
}

void main();
