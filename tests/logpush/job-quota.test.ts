import { omit } from "../../provider/runtime/values";
import { Operation, type Recorded } from "../support/operation";
import { b, benchForEach, TYPE, up, type Members } from "./support";

benchForEach();

/** The tests' job with another dataset, which replaces it. */
const events = (): Members => ({ ...omit(b.job, ["filter", "outputOptions"]), dataset: "firewall_events" });

/** Creates jobs until the zone has this many. */
async function fill(upTo: number): Promise<void> {
  for (let made = (await b.stored()).length; made < upTo; made += 1)
    await b.made({ name: `another-${made}` });
}

const dry = { config: { "edgeguard:liveChecks": "false" } };

describe("replacing a job in a zone at its job limit", () => {
  let recorded: Recorded;
  beforeEach(async () => {
    recorded = await up(b.job);
    await fill(4);
    b.api.clearRequests();
  });

  test("deletes the old job first, and the preview says so", async () => {
    const op = new Operation(b.api);
    const plan = await op.preview(TYPE, events(), recorded);
    expect(plan).toMatchObject({ step: "replace", replaces: ["dataset"], deletesFirst: true });
    expect(op.warned).toEqual([
      `edgeguard: LogpushJob "shop-requests": zone ${b.api.zones.empty} has 4 Logpush jobs; the documented limit is 4. Job ${recorded.id} will be deleted before its replacement is created; no logs will be pushed in between.`,
    ]);
    expect(b.sent()).toEqual(["GET /jobs"]);

    const replaced = await up(events(), recorded);
    expect(b.sent("POST", "DELETE")).toEqual([`DELETE /jobs/${recorded.id}`, "POST /jobs"]);
    expect(await b.stored()).toHaveLength(4);
    expect(await b.stored()).toContainEqual(
      expect.objectContaining({ id: Number(replaced.id), dataset: "firewall_events" }),
    );
  });

  test("creates the new job first if the limit allows it", async () => {
    const [other] = (await b.stored()).filter(({ id }) => String(id) !== recorded.id);
    await new Operation(b.api).destroy(TYPE, { ...recorded, id: String(other?.["id"]) });
    b.api.clearRequests();
    const op = new Operation(b.api);
    expect(await op.preview(TYPE, events(), recorded)).toMatchObject({
      step: "replace",
      deletesFirst: false,
    });
    expect(op.warned).toEqual([]);
    await up(events(), recorded);
    expect(b.sent("POST", "DELETE")).toEqual(["POST /jobs", `DELETE /jobs/${recorded.id}`]);
  });

  test("counts the other jobs that the same update creates", async () => {
    const [other] = (await b.stored()).filter(({ id }) => String(id) !== recorded.id);
    await new Operation(b.api).destroy(TYPE, { ...recorded, id: String(other?.["id"]) });
    const op = new Operation(b.api);
    await op.preview(TYPE, { ...b.job, name: "new-one" });
    expect((await op.preview(TYPE, events(), recorded)).deletesFirst).toBe(true);
  });

  test("keeps the old job while the new destination lacks an ownership token", async () => {
    const unproven = { ...events(), destinationConf: "s3://logs/x?region=us-east-1" };
    const op = new Operation(b.api);
    expect((await op.preview(TYPE, unproven, recorded)).deletesFirst).toBe(false);
  });

  test("keeps the old job and fails the preview if another job blocks the new one", async () => {
    const [another] = (await b.stored()).filter(({ id }) => String(id) !== recorded.id);
    await new Operation(b.api).destroy(TYPE, { ...recorded, id: String(another?.["id"]) });
    await b.made({ dataset: "firewall_events", output_options: null });
    b.api.clearRequests();
    await expect(new Operation(b.api).preview(TYPE, events(), recorded)).rejects.toThrow(
      /A Logpush job "shop-requests" for dataset firewall_events .* differs in filter/,
    );
    await new Operation(b.api).failedUp(TYPE, events(), recorded);
    expect(b.sent("POST", "DELETE")).toEqual([]);
  });

  test("doesn't count a replacement as another job if it adopts an existing job", async () => {
    const [another] = (await b.stored()).filter(({ id }) => String(id) !== recorded.id);
    await new Operation(b.api).destroy(TYPE, { ...recorded, id: String(another?.["id"]) });
    await b.made({ dataset: "firewall_events", output_options: null, filter: "" });
    expect((await new Operation(b.api).preview(TYPE, events(), recorded)).deletesFirst).toBe(false);
  });

  test("plans the same replacement if the engine previews it twice", async () => {
    const op = new Operation(b.api);
    expect((await op.preview(TYPE, events(), recorded)).deletesFirst).toBe(true);
    expect((await op.preview(TYPE, events(), recorded)).deletesFirst).toBe(true);
  });

  test("doesn't delete the old job first if the new one is in another zone", async () => {
    const moved = { ...events(), zoneId: b.api.zones.shop };
    expect((await new Operation(b.api).preview(TYPE, moved, recorded)).deletesFirst).toBe(false);
  });

  test("keeps the old job if live checks are off, and the error recommends deleteBeforeReplace", async () => {
    const op = new Operation(b.api, dry);
    expect((await op.preview(TYPE, events(), recorded)).deletesFirst).toBe(false);
    const { message } = await op.failedUp(TYPE, events(), recorded);
    expect(message).toContain("set deleteBeforeReplace: true");
    expect(b.sent("DELETE")).toEqual([]);
  });
});

describe("creating a job in a zone at its job limit", () => {
  test("fails the preview of a job above the zone's limit, unless the limit was raised", async () => {
    await fill(4);
    expect(await new Operation(b.api).refusals(TYPE, b.job)).toEqual([
      `LogpushJob "shop-requests": zone ${b.api.zones.empty} has 4 Logpush jobs; the documented limit is 4. Delete a job first, in a separate update. If Cloudflare has raised your limit, run "pulumi config set edgeguard:logpushJobsPerZone <number>".`,
    ]);
    const raised = new Operation(b.api, { config: { "edgeguard:logpushJobsPerZone": "5" } });
    expect(await raised.refusals(TYPE, b.job)).toEqual([]);
    expect(await raised.refusals(TYPE, { ...b.job, name: "sixth" })).toEqual([
      expect.stringContaining(
        "and this update already creates 1 other; the limit set by edgeguard:logpushJobsPerZone is 5",
      ),
    ]);
  });

  test("is possible if the job adopts one of the zone's four jobs", async () => {
    await b.made();
    await fill(4);
    const op = new Operation(b.api);
    await op.preview(TYPE, b.job);
    expect(op.warned).toEqual([]);
  });
});
