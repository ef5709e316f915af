import { readFileSync } from "node:fs";
import { join } from "node:path";
import { REGISTER } from "../../provider/register";
import { omit } from "../../provider/basics/json";
import { failureOf } from "../support/edge-client";
import { rawSend, refreshedInputs, type Recorded } from "../support/operation";
import { LogpushBench, TYPE, type Members } from "./support";
import { OFFLINE, accounts, zones } from "../support/bench";

/** The ownership challenge: Cloudflare writes a token to the destination, and the job must send it back. */

const BUCKET = "s3://shop-logs/http/{DATE}?region=eu-west-1";
const ELSEWHERE = "s3://other-logs/http?region=eu-west-1";
const DAY = 24 * 60 * 60_000;

const b = new LogpushBench();
const job: Members = { ...b.job, destinationConf: BUCKET };

/** Requests a token, and reads it from the bucket. */
async function token(destination_conf = BUCKET, scope = `/zones/${zones.empty}`): Promise<string> {
  await rawSend(b.api, "POST", `${scope}/logpush/ownership`, { destination_conf });
  const bucket = destination_conf.replace(/^s3:\/\/([^/?]+).*$/, "s3/$1/");
  const written = b.api.logpush.files().find(({ path }) => path.startsWith(bucket));
  return b.api.logpush.read(written?.path ?? "");
}

/** A token in Cloudflare's format with the given claims. */
function claiming(claims: Members): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}.c2lnbmF0dXJl`;
}

describe("without an ownership token", () => {
  test("a create requests a token and names its file instead of creating a job; with the token, it creates the job", async () => {
    const { message, recorded } = await b.failedUp(job);
    expect(recorded).toBeUndefined();
    expect(await b.stored()).toEqual([]);
    expect(b.sent("POST")).toEqual(["POST /ownership"]);
    const [file] = b.api.logpush.files();
    const name = /the file "([^"]+)" there/.exec(message)?.[1] ?? "";
    expect(message).toBe(
      `LogpushJob "shop-requests" was not created: prove that you own s3://shop-logs/http/{DATE}?region=eu-west-1. Cloudflare wrote a token to the file ${JSON.stringify(name)} there (this local API keeps it in ${join(b.api.logpush.folder, file?.path ?? "")}). ` +
        "Set ownershipChallenge to the file's content, as a secret, and run `pulumi up` within 7 days.",
    );
    expect(file?.path.endsWith(name)).toBe(true);

    const where = /keeps it in ([^)]+)\)/.exec(message)?.[1] ?? "";
    const ownershipChallenge = readFileSync(where, "utf8");
    b.api.clearRequests();
    const made = await b.up({ ...job, ownershipChallenge });
    expect(b.bodies("POST")).toMatchObject([
      { destination_conf: BUCKET, ownership_challenge: ownershipChallenge },
    ]);
    expect(made.outputs).toMatchObject({
      destinationShown: "s3://shop-logs/http/{DATE}?region=eu-west-1",
      ownershipChallenge,
    });
  });

  test("a preview requests no token, and says what the update will do", async () => {
    expect(await b.warnings(job)).toEqual([
      expect.stringMatching(
        /s3:\/\/shop-logs\/http\/\{DATE\}\?region=eu-west-1 needs an ownership challenge, and ownershipChallenge is not set\. The update will ask Cloudflare to write a token to the destination, then stop and print the token's file name\. It won't create or change the job\.$/,
      ),
    ]);
    expect(b.sent("POST", "PUT")).toEqual([]);
    expect(b.api.logpush.files()).toEqual([]);
  });

  test("a create adopts an existing job that matches", async () => {
    const id = await b.made({ destination_conf: BUCKET, ownership_challenge: await token() });
    b.api.clearRequests();
    const op = b.operation();
    expect((await op.up(TYPE, job)).id).toBe(id);
    expect(b.sent("POST", "PUT")).toEqual([`PUT /jobs/${id}`]);
    expect(op.warned).toEqual([]);
  });

  test("a create requests a token if Cloudflare rejects the job because the token is missing", async () => {
    // Only Cloudflare knows which account owns the bucket.
    const foreign =
      "r2://logs?account-id=00000000000000000000000000000001&access-key-id=KEYKEY&secret-access-key=SECRET";
    const { message } = await b.failedUp({ ...b.job, destinationConf: foreign });
    expect(message).toContain(
      "was not created: prove that you own r2://logs?account-id=00000000000000000000000000000001.",
    );
    expect(b.sent("POST")).toEqual(["POST /jobs", "POST /ownership"]);
    const own = foreign.replace("00000000000000000000000000000001", accounts.main);
    await b.up({ ...b.job, destinationConf: own });
    expect(await b.stored()).toHaveLength(1);
  });

  test("a create fails with the reason if Cloudflare can't write to the destination", async () => {
    b.api.logpush.configure({ unwritable: ["s3://shop-logs"] });
    const { message } = await b.failedUp(job);
    expect(message).toBe(
      "Cloudflare couldn't write the ownership token to s3://shop-logs/http/{DATE}?region=eu-west-1: error writing object: access denied. " +
        "Check that the destination exists and lets Cloudflare write to it, then run `pulumi up` again.",
    );
  });
});

describe("the check of an ownership token", () => {
  test("rejects a token that has expired before sending a request, in preview and update", async () => {
    const inputs = { ...job, ownershipChallenge: claiming({ exp: 1_738_281_600 }) };
    expect(await b.refusals(inputs)).toEqual([
      "ownershipChallenge: expired on 2025-01-31; a token is valid for 7 days. Remove it and run `pulumi up` to get a new one",
    ]);
    expect(b.sent()).toEqual([]);
    // The create checks it again, since it may have expired after the preview.
    const { inputs: checked } = await b.operation().check(TYPE, job);
    const unchecked = { ...checked, ownershipChallenge: inputs.ownershipChallenge };
    const failure = await failureOf(Promise.resolve(REGISTER[TYPE]?.create(b.operation().host, unchecked)));
    expect(failure.message).toMatch(/^LogpushJob "shop-requests": ownershipChallenge .* Nothing was sent\.$/);
    expect(b.sent("POST")).toEqual([]);
  });

  test("leaves it to Cloudflare what a token is bound to, because no document names those claims", async () => {
    const other = { object_type: "account", object_id: zones.shop, destination_conf: ELSEWHERE };
    const inputs = { ...job, ownershipChallenge: claiming(other) };
    expect(await b.operation(OFFLINE).refusals(TYPE, inputs)).toEqual([]);
    const { message } = await b.operation(OFFLINE).failedUp(TYPE, inputs);
    expect(message).toContain("ownership_challenge is invalid");
  });

  test.each([
    ["of one part", "00000000000000000000"],
    ["that's encrypted, and so has five parts", `${claiming({ exp: 1 })}.YQ.YQ`],
  ])("only warns about a token that can't be read, and lets Cloudflare decide: one %s", async (_, token) => {
    const op = b.operation(OFFLINE);
    const { message } = await op.failedUp(TYPE, { ...job, ownershipChallenge: token });
    expect(op.warned[0]).toContain(
      "ownershipChallenge is not a JSON Web Token, so only Cloudflare will check it.",
    );
    expect(message).toContain("ownership_challenge is invalid");
    expect(message).toContain(
      "Remove ownershipChallenge and run `pulumi up`: Cloudflare then writes a new token",
    );
  });

  test("rejects a token that's empty or too long", async () => {
    const refused = (ownershipChallenge: string) =>
      b.operation(OFFLINE).refusals(TYPE, { ...job, ownershipChallenge });
    expect(await refused("")).toEqual(["ownershipChallenge: must not be empty"]);
    expect(await refused("t".repeat(4_097))).toEqual([
      "ownershipChallenge: must be at most 4096 characters, not 4097",
    ]);
  });
});

describe("a LogpushJob with an ownership token", () => {
  let recorded: Recorded;
  let inputs: Members;
  beforeEach(async () => {
    inputs = { ...job, ownershipChallenge: await token() };
    recorded = await b.up(inputs);
    b.api.clearRequests();
  });

  test.each<[string, () => Members]>([
    ["removed", () => omit(inputs, ["ownershipChallenge"])],
    ["expired", () => ({ ...inputs, ownershipChallenge: claiming({ exp: 1 }) })],
    ["replaced", () => ({ ...inputs, ownershipChallenge: "anything" })],
  ])("doesn't send the token, or change the job, if the token is %s", async (_what, other) => {
    const op = b.operation();
    expect(await op.preview(TYPE, other(), recorded)).toMatchObject({ step: "same" });
    expect(op.warned).toEqual([]);
    // Another change doesn't send it, either.
    await b.up({ ...other(), enabled: false }, recorded);
    expect(b.bodies("PUT")).toHaveLength(1);
    expect(b.bodies("PUT")[0]).not.toHaveProperty("ownership_challenge");
  });

  test("keeps the token in the state after a refresh, although the API never returns it", async () => {
    expect((await b.refresh(recorded)).inputs).toEqual(refreshedInputs(recorded));
  });

  test("requires a new token before the job can push to another destination", async () => {
    const moved = { ...omit(inputs, ["ownershipChallenge"]), destinationConf: ELSEWHERE };
    const { message, recorded: half } = await b.failedUp(moved, recorded);
    expect(message).toContain("was not changed: prove that you own s3://other-logs/http?region=eu-west-1.");
    expect(half).toBeUndefined();
    expect(b.sent("POST", "PUT")).toEqual(["POST /ownership"]);

    const old = { ...moved, ownershipChallenge: inputs["ownershipChallenge"] };
    const { message: refused } = await b.failedUp(old, recorded);
    expect(refused).toContain("was not changed: prove that you own s3://other-logs/http?region=eu-west-1.");
    b.api.clearRequests();

    const fresh = { ...moved, ownershipChallenge: await token(ELSEWHERE) };
    await b.up(fresh, recorded);
    expect(b.bodies("PUT")).toMatchObject([
      { destination_conf: ELSEWHERE, ownership_challenge: fresh.ownershipChallenge },
    ]);
    expect(await b.one()).toMatchObject({ destination_conf: ELSEWHERE });
  });

  test("doesn't send the token if only the destination's parameters change", async () => {
    const encrypted = { ...inputs, destinationConf: `${BUCKET}&sse=AES256` };
    await b.up(encrypted, recorded);
    expect(b.bodies("PUT")).toMatchObject([{ destination_conf: `${BUCKET}&sse=AES256` }]);
    expect(b.bodies("PUT")[0]).not.toHaveProperty("ownership_challenge");
  });
});

test("a create fails with advice if the token has expired by Cloudflare's clock", async () => {
  const inputs = { ...job, ownershipChallenge: await token() };
  b.api.advance(8 * DAY);
  const { message } = await b.operation(OFFLINE).failedUp(TYPE, inputs);
  expect(message).toContain("ownership_challenge is invalid: expired");
  expect(message).toContain("Remove ownershipChallenge and run `pulumi up`");
  expect(await b.stored()).toEqual([]);
});
