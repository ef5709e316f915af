import type { JsonObject } from "../../provider/basics/json";
import { Operation, rawGet, rawSend, type Recorded } from "../support/operation";
import type { ResourceName } from "../support/permissions-markdown";
import { Bench, withEmptyLists, zones } from "../support/bench";
import { ELSEWHERE, SAMPLES } from "../support/samples";

/** What holds for every resource: create, no change, update, replacement, an object that's gone. */

type Path = (recorded: Recorded) => string;

/** The path of an object that a refresh can find gone. */
const PATHS: Partial<Readonly<Record<ResourceName, Path>>> = {
  PageShieldPolicy: ({ id }) => `/zones/${zones.empty}/page_shield/policies/${id}`,
  ManagedRulesetOverride: ({ id, outputs: { zoneId: zone, accountId, entryPointId } }) => {
    const scope = typeof zone === "string" ? `zones/${zone}` : `accounts/${String(accountId)}`;
    return `/${scope}/rulesets/${String(entryPointId)}/rules/${id}`;
  },
  LogpushJob: ({ id }) => `/zones/${zones.empty}/logpush/jobs/${id}`,
  LogpushTransformer: ({ id, inputs }) =>
    `/accounts/${String(inputs["accountId"])}/logpush/transformers/${id}`,
  KvNamespace: ({ id, inputs }) => `/accounts/${String(inputs["accountId"])}/storage/kv/namespaces/${id}`,
};

/** What the plan of the zone `blog` doesn't include. */
const OTHER_ZONE: Readonly<Record<string, string>> = {
  LogpushJob: zones.shop,
  "ManagedRulesetOverride for responses": zones.shop,
};

/** A migration has steps of its own. */
const TYPES = (Object.keys(SAMPLES) as ResourceName[]).filter((type) => type !== "WafMigration");

const ROWS = [
  ...TYPES.map((type) => [type, type, SAMPLES[type]] as const),
  ...Object.entries(ELSEWHERE).map(
    ([where, sample]) => [`ManagedRulesetOverride ${where}`, "ManagedRulesetOverride", sample] as const,
  ),
];

describe.each(ROWS)("a %s", (label, type, sample) => {
  const b = new Bench(type);
  const path = PATHS[type];
  let args: JsonObject;
  let changed: JsonObject;
  let recorded: Recorded;
  beforeEach(async () => {
    ({ args, changed } = sample(b.api));
    recorded = await b.up(args);
  });

  test("shows no change after a create, is updated in place, and shows no change again", async () => {
    await b.expectNoChange(args, recorded);
    expect(await b.step(changed, recorded)).toBe("update");
    const updated = await b.up(changed, recorded);
    expect(updated.id).toBe(recorded.id);
    await b.expectNoChange(changed, updated);
  });

  test("is replaced if its zone or account changes", async () => {
    const key = "zoneId" in args ? "zoneId" : "accountId";
    const moved = { ...args, [key]: key === "zoneId" ? (OTHER_ZONE[label] ?? zones.blog) : "0".repeat(32) };
    const offline = { config: { "edgeguard:liveChecks": "false" } };
    expect(await b.preview(moved, recorded, offline)).toMatchObject({ step: "replace", replaces: [key] });
    if (key !== "zoneId") return; // The API has one account.
    const there = await b.up(moved, recorded);
    expect(there.outputs).toMatchObject({ zoneId: moved[key] });
    if (path === undefined) return;
    expect(there.id).not.toBe(recorded.id);
    expect(await b.isGone(recorded)).toBe(true);
  });

  if (path === undefined) return;

  test("is gone after it's destroyed, and destroying it again is safe", async () => {
    await b.destroy(recorded);
    expect(await rawGet(b.api, path(recorded))).toMatchObject({ success: false });
    expect(await b.isGone(recorded)).toBe(true);
    await b.destroy(recorded);
  });

  test("fails to update if it was deleted outside the program, with advice, and a refresh drops it", async () => {
    await rawSend(b.api, "DELETE", path(recorded));
    const { message } = await b.failedUp(changed, recorded);
    expect(message).toMatch(
      /(returned 404 Not Found|no longer exists).*(run `pulumi refresh`|it was deleted)/s,
    );
    expect(await b.isGone(recorded)).toBe(true);
  });

  test("isn't forgotten in a refresh while Cloudflare's lists are empty", async () => {
    const emptied = await withEmptyLists(b.api);
    const list = path(recorded).replace(/\/[^/]+$/, "");
    if (type !== "ManagedRulesetOverride") expect(await rawGet(emptied, list)).toMatchObject({ result: [] });
    expect(await new Operation(emptied).refresh(type, recorded)).toMatchObject({ id: recorded.id });
  });
});
