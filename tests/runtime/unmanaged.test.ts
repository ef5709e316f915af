import { text } from "node:stream/consumers";
import { isJsonObject, omit, type JsonObject } from "../../provider/basics/json";
import { report, reportDrift } from "../../provider/report";
import { Random } from "../soak/random";
import { apiPerTest } from "../support/bench";
import { serve } from "../support/edge-client";
import { Operation, type Recorded } from "../support/operation";
import { SAMPLES } from "../support/samples";

/** Members of an object that no argument sets, because they're newer than this version or belong to the dashboard. */

const api = apiPerTest();
const random = new Random(Date.now() % 1_000_000);

/** The body of the request that replaces an object has to contain the member, or it would be lost. */
const WRITES = {
  PageShieldSettings: { replaces: false },
  PageShieldPolicy: { replaces: true },
  ManagedRulesetOverride: { replaces: true },
  LogpushJob: { replaces: true },
  LogpushTransformer: { replaces: true },
  KvNamespace: { replaces: false },
} as const;
type Type = keyof typeof WRITES;
const TYPES = Object.keys(WRITES) as Type[];

/** What's set by hand: a member of the object, or of an object inside it. */
const PLACES: Readonly<Record<string, string | undefined>> = {
  "": undefined,
  output_options: "LogpushJob",
  action_parameters: "ManagedRulesetOverride",
};

/** The API with a member that someone sets in the object with the ID. */
async function withMember(type: Type, id: string, place: string, member: JsonObject) {
  const written: string[] = [];
  const set = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(set);
    if (!isJsonObject(value)) return value;
    const inside = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, set(each)]));
    const isIt =
      type === "PageShieldSettings" ? "use_connection_url_path" in value : String(value["id"]) === id;
    if (!isIt) return inside;
    const part = inside[place];
    return place === ""
      ? { ...inside, ...member }
      : { ...inside, [place]: { ...(part as object), ...member } };
  };
  const server = await serve(async (request, response) => {
    const { method = "", url = "" } = request;
    const sent = await text(request);
    if (method === "PUT" || method === "PATCH") written.push(sent);
    const headers = { authorization: "Bearer local-token", "content-type": "application/json" };
    // The local API doesn't know the member.
    const unset = (_key: string, each: unknown): unknown =>
      isJsonObject(each) ? omit(each, Object.keys(member)) : each;
    const body = sent === "" ? undefined : JSON.stringify(JSON.parse(sent, unset));
    const init = body === undefined ? { method, headers } : { method, headers, body };
    const answer = await fetch(api.url + url.replace(/^\/v4/, ""), init);
    const envelope = (await answer.json()) as JsonObject;
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...envelope, result: set(envelope["result"]) }));
  });
  return { server, written };
}

/** A member with a random name and value, and the warning about it. */
function randomMember(place: string): { readonly member: JsonObject; readonly warning: string } {
  const name = `new_member_${random.int(0, 99_999)}`;
  const value: unknown = random.pick([
    true,
    random.int(1, 99_999),
    `text ${random.int(0, 999)}`,
    { deep: [1] },
  ]);
  const path = place === "" ? name : `${place}.${name}`;
  const shown = ["boolean", "number"].includes(typeof value);
  const news = shown ? `\`${path}\` is ${JSON.stringify(value)}` : `\`${path}\` has another value`;
  return {
    member: { [name]: value },
    warning: `changed outside the program: ${news}; the program doesn't set it`,
  };
}

const cases = TYPES.flatMap((type) =>
  Object.keys(PLACES)
    .filter((place) => [undefined, type].includes(PLACES[place] as Type | undefined))
    .map((place) => [type, place === "" ? "the object" : place, place] as const),
);

test.each(cases)(
  "what someone sets in a %s, in %s, is in one refresh's warning, and survives the next write",
  async (type, _where, place) => {
    const { args, changed } = SAMPLES[type](api);
    const recorded = await new Operation(api).up(type, args);
    const { member, warning } = randomMember(place);
    const { server, written } = await withMember(type, recorded.id, place, member);
    const refresh = new Operation(server);
    const now = (await refresh.refresh(type, recorded)) as Recorded;
    expect(refresh.warned).toEqual([expect.stringContaining(warning)]);

    const again = new Operation(server);
    expect((await again.preview(type, args, now)).step).toBe("same");
    const same = await again.refresh(type, now);
    expect(same?.outputs).toEqual(now.outputs);
    await again.up(type, changed, same);
    expect(again.warned.join()).not.toContain("changed outside");
    const [name = ""] = Object.keys(member);
    if (WRITES[type].replaces) expect(written.filter((body) => !body.includes(name))).toEqual([]);
    expect(written).not.toEqual([]);
  },
);

test.each(["PageShieldPolicy", "LogpushJob", "LogpushTransformer", "ManagedRulesetOverride"] as const)(
  "an update of a %s that was changed in a member without an argument is an unseen danger until a refresh has recorded it",
  async (type) => {
    const { args, changed } = SAMPLES[type](api);
    const recorded = await new Operation(api).up(type, args);
    const { server } = await withMember(type, recorded.id, "", { new_switch: 42 });
    const now = (await new Operation(server).refresh(type, recorded)) as Recorded;
    const { inputs } = await new Operation(server).preview(type, changed, now);
    const urn = `urn:pulumi:dev::shop::pulumi-nodejs:dynamic/edgeguard:${type}::it`;
    const side = ({ id, inputs: given, outputs }: Partial<Recorded>) => ({ id, inputs: given, outputs });
    const refresh = { op: "refresh", urn, oldState: side(recorded), newState: side(now) };
    const update = { op: "update", urn, oldState: side(now), newState: side({ ...now, inputs }) };
    const sentence = "is written, although it was changed outside the program: `new_switch` is 42";
    const failOn = ["unseen"] as const;
    const judged = (steps: readonly object[]) => report(JSON.stringify({ steps }), "text", { failOn }).text;
    expect(judged([refresh, update])).toContain(sentence);
    expect(judged([update])).not.toContain("new_switch");
    const same = { op: "same", urn, oldState: side(now), newState: side(now) };
    const drift = reportDrift([{ name: "plan", text: JSON.stringify({ steps: [refresh, same] }) }], "text");
    expect(drift.text).toContain("new_switch");
    expect(drift.drifted).toBe(true);
  },
);

test("a member that Cloudflare returns without a value, or as a timestamp, causes no warning, and neither does one in extra", async () => {
  const { args } = SAMPLES.LogpushJob(api);
  const recorded = await new Operation(api).up("LogpushJob", { ...args, extra: { known: 1 } });
  const { server } = await withMember("LogpushJob", recorded.id, "", {
    empty: "",
    none: null,
    off: false,
    zero: 0,
    list: [],
    modified_on: "2026-11-02T09:30:00Z",
    known: 1,
  });
  const operation = new Operation(server);
  await operation.refresh("LogpushJob", recorded);
  expect(operation.warned).toEqual([]);
});
