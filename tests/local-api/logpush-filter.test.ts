import { apiPerFile } from "../support/bench";
import {
  ACCEPTED_BY_FIELD,
  leaf as caseOf,
  REJECTED,
  REJECTED_BY_FIELD,
  UNFILTERABLE,
} from "../logpush/filter-cases";
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
  const text = (filter: unknown): string => (typeof filter === "string" ? filter : JSON.stringify(filter));

  test.each<[string, string]>([
    ["the documented example", where({ and: [leaf("ClientRequestPath", "contains", "/static"), host] })],
    ["a bare comparison", where(host)],
    ["nested groups", where({ or: [{ and: [host, { or: [host, host] }] }, host] })],
    ["whitespace", '{ "where" : { "or" : [ {"value":"x","operator":"eq","key":"RayID"} ] } }'],
    ["a negative number", where(leaf("ClientASN", "gt", "-1"))],
    ["an empty string", ""],
    ...ACCEPTED_BY_FIELD.map((each): [string, string] => [each.join(" "), text(caseOf(...each))]),
  ])("accepts %s as a filter, and returns it unchanged", async (_, filter) => {
    const response = await call("POST", JOBS, { ...newJob, filter });
    expect(response).toMatchObject({ status: 200, body: { result: { filter } } });
  });

  const bad = (why: string) =>
    refusal(400, 1004, `creating a new job is not allowed: bad predicate: ${why}`, "/filter");

  test.each([
    ...REJECTED.map(([filter]) => text(filter)),
    ...REJECTED_BY_FIELD.map(([key, operator, value]) => text(caseOf(key, operator, value))),
  ])("rejects the filter %s, as the provider does", async (filter) => {
    expect(await call("POST", JOBS, { ...newJob, filter })).toMatchObject(bad(""));
  });

  // Cloudflare takes numbers and booleans as text; the provider converts them.
  test.each<[string, string, Json, string]>([
    ["RayId", "eq", "x", 'unknown field "RayId"'],
    ["RayID", "constructor", "x", 'unknown operator "constructor"'],
    ["EdgeResponseStatus", "eq", 500, 'failed to decode value "500", supported kinds: uint64'],
    ["CacheTieredFill", "eq", true, 'failed to decode value "true", supported kinds: bool'],
    ["EdgeResponseStatus", "in", [2.5], 'failed to decode value "[2.5]", supported kinds: []uint64'],
  ])("rejects %s %s %j in a filter with Cloudflare's message", async (key, operator, value, why) => {
    const filter = where(leaf(key, operator, value));
    expect(await call("POST", JOBS, { ...newJob, filter })).toMatchObject(bad(why));
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

  test.each(UNFILTERABLE)("rejects %s in a filter of firewall_events", async (field) => {
    const filter = where(leaf(field, "eq", "1"));
    const job = { ...newJob, dataset: "firewall_events", output_options: null, filter };
    expect(await call("POST", JOBS, job)).toMatchObject(bad(`field ${field} cannot be filtered by`));
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
