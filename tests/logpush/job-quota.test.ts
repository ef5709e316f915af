import { omit } from "../../provider/basics/json";
import type { Recorded } from "../support/operation";
import { LogpushBench, TYPE, type Members } from "./support";
import { zones } from "../support/bench";

const b = new LogpushBench();

/** The tests' job with another dataset, which replaces it. */
const events = (): Members => ({ ...omit(b.job, ["filter", "outputOptions"]), dataset: "firewall_events" });

/** Creates jobs until the zone has this many. */
async function fill(upTo: number): Promise<void> {
  for (let made = (await b.stored()).length; made < upTo; made += 1)
    await b.made({ name: `another-${made}` });
}

/** The zone's jobs, as messages list them. */
async function listed(): Promise<string> {
  const names = (await b.stored()).map(({ id, name }) => `${JSON.stringify(name)} (ID ${String(id)})`);
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1) ?? ""}`;
}

describe("replacing a job in a zone at its job limit", () => {
  let recorded: Recorded;
  beforeEach(async () => {
    recorded = await b.up(b.job);
    await fill(4);
    b.api.clearRequests();
  });

  test("keeps the old job and names the zone's jobs and the resource option that helps", async () => {
    const op = b.operation();
    const { message } = await op.failedUp(TYPE, events(), recorded);
    expect(message).toContain("exceeded max jobs allowed");
    expect(message).toContain(
      `The zone has ${await listed()}. If the update replaces one of them, set deleteBeforeReplace: true in its resource options. Otherwise delete one, or ask Cloudflare to raise the limit.`,
    );
    expect(op.warned).toEqual([]);
    expect(b.sent("DELETE")).toEqual([]);
    expect(await b.stored()).toHaveLength(4);
  });

  test("works with the resource option deleteBeforeReplace, also after an update that failed without it", async () => {
    await b.failedUp(events(), recorded);
    b.api.clearRequests();
    const replaced = await b.up(events(), recorded, { deleteBeforeReplace: true });
    expect(b.sent("POST", "DELETE")).toEqual([`DELETE /jobs/${recorded.id}`, "POST /jobs"]);
    expect(await b.stored()).toHaveLength(4);
    expect(await b.stored()).toContainEqual(
      expect.objectContaining({ id: Number(replaced.id), dataset: "firewall_events" }),
    );
  });

  test("fails the preview if another job blocks the new one", async () => {
    const [another] = (await b.stored()).filter(({ id }) => String(id) !== recorded.id);
    await b.destroy({ ...recorded, id: String(another?.["id"]) });
    await b.made({ dataset: "firewall_events", output_options: null });
    b.api.clearRequests();
    await expect(b.preview(events(), recorded)).rejects.toThrow(
      /A Logpush job "shop-requests" for dataset firewall_events .* differs in filter/,
    );
    expect(b.sent("POST", "DELETE")).toEqual([]);
  });
});

describe("creating a job in a zone at its job limit", () => {
  test("passes the preview, because Cloudflare may have raised the limit, and fails with the zone's jobs", async () => {
    await fill(4);
    const op = b.operation();
    const { message } = await op.failedUp(TYPE, b.job);
    expect(op.warned).toEqual([]);
    expect(message).toContain(`The zone has ${await listed()}.`);
  });

  test("is possible if the job adopts one of the zone's four jobs", async () => {
    await b.made();
    await fill(4);
    expect(await b.warnings(b.job)).toEqual([]);
  });
});

test("an error about a zone without jobs says that its limit may be 0, and doesn't blame the plan", async () => {
  b.api.fault({ match: { method: "POST" }, kind: "status", status: 403, code: 1004 });
  const { message } = await b.failedUp(b.job);
  expect(message).toContain(
    `zone ${zones.empty} has no job yet, so its limit may be 0. Ask Cloudflare to raise it.`,
  );
  expect(message).not.toContain("plan");
});
