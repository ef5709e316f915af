import { apiPerFile } from "../support/bench";
import { callerOf } from "./client";
import { create, newJob, refusal } from "./logpush-client";

const api = apiPerFile({ limits: { maxLogpushJobs: { free: 0, pro: 0, business: 0, enterprise: 1000 } } });
// Raised, so that only the limit of operators applies.
const roomy = apiPerFile({ limits: { maxLogpushFilterBytes: 5000 } });
const call = callerOf(api);
const JOBS = `/zones/${api.zones.empty}/logpush/jobs`;

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const leaf = (key: string, operator: string, value: Json) => ({ key, operator, value });
const where = (node: Json): string => JSON.stringify({ where: node });
const host = leaf("ClientRequestHost", "eq", "example.com");

describe("the API for Logpush jobs", () => {
  test.each<[string, string]>([
    ["the documented example", where({ and: [leaf("ClientRequestPath", "contains", "/static"), host] })],
    ["a bare comparison", where(host)],
    ["nested groups", where({ or: [{ and: [host, { or: [host, host] }] }, host] })],
    [
      "whitespace and properties in another order",
      '{ "where" : { "or" : [ {"value":"x","operator":"eq","key":"RayID"} ] } }',
    ],
    ["a number as text", where(leaf("EdgeResponseStatus", "geq", "500"))],
    ["a negative number", where(leaf("ClientASN", "gt", "-1"))],
    ["a fraction, for a field that has them", where(leaf("EdgeResponseCompressionRatio", "lt", "1.5"))],
    ["a set of numbers", where(leaf("EdgeResponseStatus", "in", [200, 201]))],
    ["a set of strings", where(leaf("ClientCountry", "!in", ["de", "fr"]))],
    ["a boolean as text", where(leaf("CacheTieredFill", "!eq", "true"))],
    ["an element of a list", where(leaf("BotTags", "contains", "x"))],
    ["a number in a list", where(leaf("BotDetectionIDs", "!contains", "7"))],
    ["a time as an ISO 8601 date", where(leaf("EdgeStartTimestamp", "gt", "2026-10-01T00:00:00Z"))],
    ["a time in nanoseconds", where(leaf("EdgeStartTimestamp", "leq", "1790812800000000000"))],
    ["an empty string", ""],
  ])("accepts %s as a filter, and returns it unchanged", async (_, filter) => {
    const response = await call("POST", JOBS, { ...newJob, filter });
    expect(response).toMatchObject({ status: 200, body: { result: { filter } } });
  });

  const undecoded = (value: string, kinds: string) =>
    `failed to decode value ${value}, supported kinds: ${kinds}`;

  test.each<[string, string, string]>([
    ["text that is not JSON", "{where", "not a JSON object"],
    ["a list", "[]", "not a JSON object"],
    ["an object without where", JSON.stringify({ and: [host] }), "missing key where"],
    ["a property beside where", JSON.stringify({ where: host, limit: 1 }), "unknown key limit beside where"],
    ["a string as where", where("x"), "a node must be an object"],
    ["a list of nodes", where([host]), "a node must be an object"],
    ["an empty group", where({ and: [] }), "and needs at least one node"],
    ["a group that isn't a list", where({ or: host }), "or needs at least one node"],
    ["two logical keys", where({ and: [host], or: [host] }), "and must be the only key"],
    ["a comparison with a group", where({ ...host, and: [host] }), "and must be the only key"],
    ["a number for a node", where({ and: [1] }), "a node must be an object"],
    ["an extra property in a comparison", where({ ...host, not: true }), "unknown key not in a comparison"],
    ["a comparison without a key", where({ operator: "eq", value: "x" }), "a comparison needs a key"],
    ["a comparison without an operator", where({ key: "RayID", value: "x" }), "unknown operator undefined"],
    ["an operator from an outdated example", where(leaf("RayID", "neq", "x")), 'unknown operator "neq"'],
    [
      "an inherited property's name as operator",
      where(leaf("RayID", "constructor", "x")),
      'unknown operator "constructor"',
    ],
    ["a comparison without a value", where({ key: "RayID", operator: "eq" }), undecoded('"null"', "string")],
    ["an unknown field", where(leaf("RayId", "eq", "x")), 'unknown field "RayId"'],
    ["a field that is an object", where(leaf("Cookies", "eq", "x")), "field Cookies cannot be filtered by"],
    [
      "less-than on a string",
      where(leaf("RayID", "lt", "x")),
      "operator lt is not supported for field RayID",
    ],
    [
      "startsWith on a number",
      where(leaf("ClientASN", "startsWith", "6")),
      "operator startsWith is not supported",
    ],
    [
      "greater-than on a boolean",
      where(leaf("CacheTieredFill", "gt", "true")),
      "operator gt is not supported",
    ],
    ["in on a boolean", where(leaf("CacheTieredFill", "in", ["true"])), "operator in is not supported"],
    ["eq on a list", where(leaf("BotTags", "eq", "x")), "operator eq is not supported for field BotTags"],
    [
      "a string instead of a list",
      where(leaf("EdgeResponseStatus", "in", "200,201")),
      undecoded('"\\"200,201\\""', "[]uint64"),
    ],
    [
      "strings for numbers",
      where(leaf("EdgeResponseStatus", "in", ["200"])),
      undecoded('"[\\"200\\"]"', "[]uint64"),
    ],
    [
      "fractions for whole numbers",
      where(leaf("EdgeResponseStatus", "in", [2.5])),
      undecoded('"[2.5]"', "[]uint64"),
    ],
    [
      "numbers for strings",
      where(leaf("ClientCountry", "in", ["de", 1])),
      undecoded('"[\\"de\\",1]"', "[]string"),
    ],
    ["an empty set", where(leaf("ClientCountry", "in", [])), undecoded('"[]"', "[]string")],
    [
      "a number that isn't written as text",
      where(leaf("EdgeResponseStatus", "eq", 500)),
      undecoded('"500"', "uint64"),
    ],
    [
      "a string that isn't a number",
      where(leaf("EdgeResponseStatus", "eq", "5xx")),
      undecoded('"\\"5xx\\""', "uint64"),
    ],
    [
      "a boolean that isn't written as text",
      where(leaf("CacheTieredFill", "eq", true)),
      undecoded('"true"', "bool"),
    ],
    [
      "a string that isn't a boolean",
      where(leaf("CacheTieredFill", "eq", "yes")),
      undecoded('"\\"yes\\""', "bool"),
    ],
    [
      "a list of values for eq",
      where(leaf("ClientCountry", "eq", ["de"])),
      undecoded('"[\\"de\\"]"', "string"),
    ],
  ])("rejects %s as a filter", async (_, filter, why) => {
    const message = `creating a new job is not allowed: bad predicate: ${why}`;
    expect(await call("POST", JOBS, { ...newJob, filter })).toMatchObject(
      refusal(400, 1004, message, "/filter"),
    );
  });

  test("rejects an invalid filter in an update, with the update's message, and keeps the old filter", async () => {
    const id = await create(call, JOBS, { filter: where(host) });
    const refused = refusal(
      400,
      1004,
      "updating a job is not allowed: bad predicate: missing key where",
      "/filter",
    );
    expect(await call("PUT", `${JOBS}/${id}`, { filter: "{}" })).toMatchObject(refused);
    expect((await call("GET", `${JOBS}/${id}`)).body).toMatchObject({ result: { filter: where(host) } });
  });

  test.each([
    "Action",
    "Description",
    "Kind",
    "MatchIndex",
    "Metadata",
    "OriginatorRayID",
    "RuleID",
    "Source",
  ])("rejects %s in a filter of firewall_events", async (field) => {
    const job = {
      ...newJob,
      dataset: "firewall_events",
      output_options: null,
      filter: where(leaf(field, "eq", "1")),
    };
    const refused = refusal(400, 1004, `field ${field} cannot be filtered by`, "/filter");
    expect(await call("POST", JOBS, job)).toMatchObject(refused);
  });

  const tooLarge = refusal(400, 1002, "filter exceeds the limit", "/filter");

  test("accepts a filter of up to 30 operators, including groups", async () => {
    // Counted manually: 1 + 29, then 1 + (1 + 13) + (1 + 14).
    const many = (count: number): Json[] => Array.from({ length: count }, () => leaf("JA4", "eq", ""));
    const flat = (count: number) => where({ and: many(count) });
    const nested = (last: number) => where({ or: [{ and: many(13) }, { and: many(last) }] });
    const post = (filter: string) =>
      callerOf(roomy)("POST", `/zones/${roomy.zones.empty}/logpush/jobs`, { ...newJob, filter });
    expect(await post(flat(29))).toMatchObject({ status: 200 });
    expect(await post(flat(30))).toMatchObject(tooLarge);
    expect(await post(nested(14))).toMatchObject({ status: 200 });
    expect(await post(nested(15))).toMatchObject(tooLarge);
  });

  test("accepts a filter of up to 1,000 bytes in UTF-8", async () => {
    const start = '{"where":{"key":"ClientRequestPath","operator":"eq","value":"';
    const filter = (value: string) => `${start}${value}"}}`;
    expect(start).toHaveLength(61);
    const post = (value: string) => call("POST", JOBS, { ...newJob, filter: filter(value) });
    expect(await post("x".repeat(936))).toMatchObject({ status: 200 });
    expect(await post("x".repeat(937))).toMatchObject(tooLarge);
    expect(await post(`${"x".repeat(934)}ü`)).toMatchObject({ status: 200 });
    expect(await post(`${"x".repeat(935)}ü`)).toMatchObject(tooLarge);
  });
});
