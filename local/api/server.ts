import { setMaxListeners } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { firewallEvent, type FirewallEventInput } from "./analytics/events";
import { createApp } from "./app";
import { MovableClock } from "./services";
import { type Fault, Faults } from "./faults";
import type { KvLag } from "./kv/namespace";
import { type NamespaceName, namespaces } from "./kv/seed";
import { KvStore } from "./kv/store";
import { type LogpushControls, LogpushStore } from "./logpush/store";
import { type LocalApiOptions, settle } from "./options";
import { BASE_PATH } from "./route";
import type { DetectMode, Detection } from "./page-shield/detect";
import { type LoggedRequest, RequestLog } from "./request-log";
import { type AccountName, accounts, seededState, type ZoneName, zones } from "./seed";
import { type Snapshot, State } from "./state";
import { LocalApiStartError, StateFolder } from "./state-folder";
import { inDashboard, viewOf, type WafAction, type WafView } from "./waf/dashboard";
import { withChange, type WafSettingsChange } from "./waf/settings";

/** The host to listen on. It's reachable only from this machine, because the API accepts commands from anyone. */
const HOSTNAME = "127.0.0.1";

export interface LocalApi {
  /** The base URL, without a trailing slash: `http://127.0.0.1:8787/client/v4`. */
  readonly url: string;
  /** The accounts' IDs. */
  readonly accounts: Readonly<Record<AccountName, string>>;
  /** The seeded zones' IDs. */
  readonly zones: Readonly<Record<ZoneName, string>>;
  /** The seeded KV namespaces' IDs. */
  readonly namespaces: Readonly<Record<NamespaceName, string>>;
  /** The requests received, oldest first; always the same array. */
  readonly requests: readonly LoggedRequest[];
  clearRequests(): void;
  fault(fault: Fault): void;
  clearFaults(): void;
  /** Sets what Page Shield has detected in a zone. @default "merge" */
  detect(zoneId: string, detection: Detection, mode?: DetectMode): void;
  /** Adds firewall events of a zone, which GraphQL queries return. Members that aren't given have a default. */
  addFirewallEvents(zoneId: string, events: readonly FirewallEventInput[]): void;
  /**
   * Moves the API's clock ahead. Entries that expire by then disappear, and writes whose lag has passed become visible.
   */
  advance(ms: number): void;
  /**
   * Sets how long lists and reads of a namespace lag behind its writes from now on. Omitted settings stay as they are.
   */
  lagKv(namespaceId: string, lag: Partial<KvLag>): void;
  /** Controls Logpush's pushes, and gives access to the directory that represents their destinations. */
  readonly logpush: LogpushControls;
  /** Returns a zone's previous WAF rules and the state of its migration. */
  waf(zoneId: string): WafView;
  /** Makes a change to a zone that a colleague in the dashboard, or Cloudflare itself, might make. */
  inDashboard(zoneId: string, action: WafAction): WafView;
  /** Sets undocumented aspects of a migration from now on. Omitted settings stay as they are. */
  changeWaf(change: WafSettingsChange): void;
  snapshot(): Snapshot;
  restore(snapshot: Snapshot): void;
  /** Restores the seeded state. */
  reset(): void;
  /** Stops the server, ending open connections immediately, and saves the state if it has a directory. */
  close(): Promise<void>;
}

/** @throws LocalApiStartError if the port or the state's directory can't be used. */
export async function startLocalApi(options: LocalApiOptions = {}): Promise<LocalApi> {
  const { persistTo } = options;
  const folder = persistTo === undefined ? undefined : StateFolder.open(persistTo);
  try {
    const api = await start(options, folder?.load());
    let closed: Promise<void> | undefined;
    const close = async () => {
      await api.close();
      folder?.close(api.snapshot());
    };
    return { ...api, close: () => (closed ??= close()) };
  } catch (error) {
    folder?.release();
    throw error;
  }
}

/** @param kept the state to start with, instead of the seeded one. */
async function start(options: LocalApiOptions, kept: Snapshot | undefined): Promise<LocalApi> {
  const chosen = settle(options);
  const clock = new MovableClock(chosen.clock);
  const settings = { ...chosen, clock: clock.now };
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // Each caller may have a delayed response.

  const seed = seededState(settings.zones);
  const kv = new KvStore(seed.kv, {
    clock: clock.now,
    lag: settings.kvLagMs,
    listLagMs: settings.listLagMs,
    values: settings.kvStore,
  });
  const shelf = { clock: clock.now, lagMs: settings.readLagMs, listLagMs: settings.listLagMs };
  const logpush = new LogpushStore({ ...shelf, behavior: settings.logpush });
  const state = new State(kept ?? seed, kv, logpush, shelf);
  const faults = new Faults();
  const log = new RequestLog(settings.limits.maxLoggedRequests);
  const wait = async (ms: number) => {
    if (ms > 0) await delay(ms, undefined, { signal: closing.signal });
  };

  const app = createApp({ settings, state, faults, log, wait });
  // The adapter would otherwise replace the global Request and Response in a test or program that runs the API in its
  // own process.
  const handle = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server = createServer((request, response) => void handle(request, response));
  // Only the client ends an idle connection. If the server did, a request already on its way could be lost.
  server.keepAliveTimeout = 0;
  const port = await listen(server, settings.port);

  return {
    url: `http://${HOSTNAME}:${port}${BASE_PATH}`,
    accounts,
    zones,
    namespaces,
    requests: log.entries,
    clearRequests: () => log.clear(),
    fault: (fault) => faults.add(fault),
    clearFaults: () => faults.clear(),
    detect: (zoneId, detection, mode = "merge") => state.detect(zoneId, detection, mode),
    addFirewallEvents: (zoneId, events) =>
      state.addFirewallEvents(
        zoneId,
        events.map((event) => firewallEvent.parse({ datetime: minuteBefore(clock.now()), ...event })),
      ),
    advance: (ms) => clock.advance(ms),
    lagKv: (namespaceId, lag) => void kv.setLag(namespaceId, lag),
    logpush,
    waf: (zoneId) => viewOf({ state, settings }, zoneId),
    inDashboard: (zoneId, action) => inDashboard({ state, settings }, zoneId, action),
    changeWaf: (change) => {
      settings.waf = withChange(settings.waf, change);
    },
    snapshot: () => state.snapshot(),
    restore: (snapshot) => state.restore(snapshot),
    reset: () => state.restore(seededState(settings.zones)),
    close: () => {
      closing.abort();
      logpush.close();
      return close(server);
    },
  };
}

/** Events are available after a while. */
function minuteBefore(time: Date): string {
  return new Date(time.getTime() - 60_000).toISOString();
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const inUse = cause.code === "EADDRINUSE";
      const what = inUse ? `Port ${port} is in use` : `Port ${port} cannot be opened (${cause.message})`;
      reject(new LocalApiStartError(`${what}: choose another, or port 0 for a free one.`, { cause }));
    });
    server.listen(port, HOSTNAME, () => {
      resolve(portOf(server.address()));
    });
  });
}

function portOf(address: string | AddressInfo | null): number {
  if (address === null || typeof address === "string") throw new Error("the server listens on no port");
  return address.port;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
}
