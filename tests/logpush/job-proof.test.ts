import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { LocalApiOptions } from "edgeguard-local";
import { REGISTER } from "../../provider/register";
import { omit } from "../../provider/runtime/values";
import { failureOf } from "../support/edge-client";
import { Operation, rawSend, type Recorded } from "../support/operation";
import { bench, TYPE, type Bench, type Members } from "./support";

/** The proof of ownership: the service writes a token to the destination, and wants it back. */

const BUCKET = "s3://shop-logs/http/{DATE}?region=eu-west-1";
const ELSEWHERE = "s3://other-logs/http?region=eu-west-1";
const DAY = 24 * 60 * 60_000;

let b: Bench;
let job: Members;
const start = async (options: LocalApiOptions = {}): Promise<void> => {
  b = await bench(options);
  job = { ...b.job, destinationConf: BUCKET };
};
beforeEach(() => start());
afterEach(() => b.api.close());

const up = (inputs: Members, previous?: Recorded) => new Operation(b.api).up(TYPE, inputs, previous);
const offline = { config: { "edgeguard:liveChecks": "false" } };

/** As a person does it: has a token written, and reads it from the bucket. */
async function token(destination_conf = BUCKET, scope = `/zones/${b.api.zones.empty}`): Promise<string> {
  await rawSend(b.api, "POST", `${scope}/logpush/ownership`, { destination_conf });
  const bucket = destination_conf.replace(/^s3:\/\/([^/?]+).*$/, "s3/$1/");
  const written = b.api.logpush.files().find(({ path }) => path.startsWith(bucket));
  return b.api.logpush.read(written?.path ?? "");
}

/** A token of the service's form, saying what a test wants it to. */
function claiming(claims: Members): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}.c2lnbmF0dXJl`;
}

describe("without a token", () => {
  test("a create has one written, makes nothing, and names the file; with it the job is made", async () => {
    const { message, recorded } = await new Operation(b.api).failedUp(TYPE, job);
    expect(recorded).toBeUndefined();
    expect(await b.stored()).toEqual([]);
    expect(b.sent("POST")).toEqual(["POST /ownership"]);
    const [file] = b.api.logpush.files();
    const name = /the file "([^"]+)" there/.exec(message)?.[1] ?? "";
    expect(message).toBe(
      `LogpushJob "shop-requests" was not created: prove that you own s3://shop-logs/http/{DATE}. Cloudflare wrote a token to the file ${JSON.stringify(name)} there (this local API keeps it in ${join(b.api.logpush.folder, file?.path ?? "")}). ` +
        "Set its content as ownershipChallenge, a secret, and run `pulumi up` within 7 days.",
    );
    expect(file?.path.endsWith(name)).toBe(true);

    const where = /keeps it in ([^)]+)\)/.exec(message)?.[1] ?? "";
    const ownershipChallenge = readFileSync(where, "utf8");
    b.api.clearRequests();
    const made = await up({ ...job, ownershipChallenge });
    expect(b.bodies("POST")).toMatchObject([
      { destination_conf: BUCKET, ownership_challenge: ownershipChallenge },
    ]);
    expect(made.outputs).toMatchObject({
      destinationShown: "s3://shop-logs/http/{DATE}",
      ownershipChallenge,
    });
  });

  test("a preview asks for none, and says what the up will do", async () => {
    const op = new Operation(b.api);
    await op.preview(TYPE, job);
    expect(op.warned).toEqual([
      expect.stringMatching(
        /s3:\/\/shop-logs\/http\/\{DATE\} needs a proof of ownership, and ownershipChallenge is not set\. The update will have Cloudflare write a token to the destination, create no job, and name the token's file\.$/,
      ),
    ]);
    expect(b.sent("POST", "PUT")).toEqual([]);
    expect(b.api.logpush.files()).toEqual([]);
  });

  test("an existing job that is equal needs none", async () => {
    const id = await b.made({ destination_conf: BUCKET, ownership_challenge: await token() });
    b.api.clearRequests();
    const op = new Operation(b.api);
    expect((await op.up(TYPE, job)).id).toBe(id);
    expect(b.sent("POST", "PUT")).toEqual([`PUT /jobs/${id}`]);
    expect(op.warned).toEqual([]);
  });

  test("a destination that turns out to need one is asked for all the same", async () => {
    // Whose account the bucket is in only the service knows.
    const foreign =
      "r2://logs?account-id=00000000000000000000000000000001&access-key-id=KEYKEY&secret-access-key=SECRET";
    const { message } = await new Operation(b.api).failedUp(TYPE, { ...b.job, destinationConf: foreign });
    expect(message).toContain("was not created: prove that you own r2://logs.");
    expect(b.sent("POST")).toEqual(["POST /jobs", "POST /ownership"]);
    const own = foreign.replace("00000000000000000000000000000001", b.api.accounts.main);
    await up({ ...b.job, destinationConf: own });
    expect(await b.stored()).toHaveLength(1);
  });

  test("a destination that the service cannot write to is told as that", async () => {
    b.api.logpush.configure({ unwritable: ["s3://shop-logs"] });
    const { message } = await new Operation(b.api).failedUp(TYPE, job);
    expect(message).toBe(
      "Cloudflare could not write the ownership token to s3://shop-logs/http/{DATE}: error writing object: access denied. " +
        "Check that it exists and that Cloudflare may write there, then run `pulumi up` again.",
    );
  });
});

describe("a token that would be refused is refused before anything is sent", () => {
  const now = () => Math.floor(Date.now() / 1000);
  const good = () => ({
    object_type: "zone",
    object_id: b.api.zones.empty,
    destination_conf: BUCKET,
    exp: now() + 60,
  });
  test.each<[string, () => Members, RegExp]>([
    [
      "expired",
      () => ({ exp: 1_738_281_600 }),
      /^ownershipChallenge: expired on 2025-01-31; a token lasts 7 days\. Remove it and run `pulumi up` for a new one$/,
    ],
    [
      "for an account",
      () => ({ object_type: "account" }),
      /^ownershipChallenge: was issued for an account; this job is of zone \w{32}\. /,
    ],
    [
      "for another zone",
      () => ({ object_id: b.api.zones.shop }),
      /^ownershipChallenge: was issued for zone 5a0c1e7f3b2d4968a7e1c0f2d3b4a501; this job is of 5a0c1e7f3b2d4968a7e1c0f2d3b4a505\. /,
    ],
    [
      "for another bucket",
      () => ({ destination_conf: ELSEWHERE }),
      /^ownershipChallenge: was issued for s3:\/\/other-logs\/http; this job pushes to s3:\/\/shop-logs\/http\/\{DATE\}\. /,
    ],
    [
      "for another region",
      () => ({ destination_conf: BUCKET.replace("eu-west-1", "us-east-1") }),
      /^ownershipChallenge: was issued for another destination than the declared one\. /,
    ],
  ])("in preview and in up: %s", async (_what, wrong, sentence) => {
    const inputs = { ...job, ownershipChallenge: claiming({ ...good(), ...wrong() }) };
    expect(await new Operation(b.api).refusals(TYPE, inputs)).toEqual([expect.stringMatching(sentence)]);
    expect(b.sent()).toEqual([]);
    // An up whose check came too early for it: the verb looks again.
    const { inputs: checked } = await new Operation(b.api).check(TYPE, job);
    const unchecked = { ...checked, ownershipChallenge: inputs.ownershipChallenge };
    const failure = await failureOf(
      Promise.resolve(REGISTER[TYPE]?.create(new Operation(b.api).host, unchecked)),
    );
    expect(failure.message).toMatch(/^LogpushJob "shop-requests": ownershipChallenge .* Nothing was sent\.$/);
    expect(b.sent("POST")).toEqual([]);
  });

  test("one that cannot be read is left to the service, with a warning", async () => {
    const op = new Operation(b.api, offline);
    const { message } = await op.failedUp(TYPE, { ...job, ownershipChallenge: "00000000000000000000" });
    expect(op.warned[0]).toContain(
      "ownershipChallenge is no JSON web token, so nothing of it could be checked",
    );
    expect(message).toContain("ownership_challenge is invalid");
    expect(message).toContain(
      "Remove ownershipChallenge and run `pulumi up`: the service then writes a new token",
    );
  });

  test("under the names of other claims too", async () => {
    const other = { "object-type": "ZONE", objectId: b.api.zones.shop.toUpperCase(), dest_conf: BUCKET };
    expect(
      await new Operation(b.api, offline).refusals(TYPE, { ...job, ownershipChallenge: claiming(other) }),
    ).toEqual([expect.stringContaining("was issued for zone 5a0c1e7f3b2d4968a7e1c0f2d3b4a501")]);
  });

  test("an empty one, and one that is too long", async () => {
    const refused = (ownershipChallenge: string) =>
      new Operation(b.api, offline).refusals(TYPE, { ...job, ownershipChallenge });
    expect(await refused("")).toEqual(["ownershipChallenge: is empty"]);
    expect(await refused("t".repeat(4_097))).toEqual([
      "ownershipChallenge: is 4097 characters; the limit is 4096",
    ]);
  });
});

describe("a job that is there", () => {
  let recorded: Recorded;
  let inputs: Members;
  beforeEach(async () => {
    inputs = { ...job, ownershipChallenge: await token() };
    recorded = await up(inputs);
    b.api.clearRequests();
  });

  test.each<[string, () => Members]>([
    ["taken away", () => omit(inputs, ["ownershipChallenge"])],
    ["expired long since", () => ({ ...inputs, ownershipChallenge: claiming({ exp: 1 }) })],
    ["another one", () => ({ ...inputs, ownershipChallenge: "anything" })],
  ])("does not change with its token: %s", async (_what, other) => {
    const op = new Operation(b.api);
    expect(await op.preview(TYPE, other(), recorded)).toMatchObject({ step: "same" });
    expect(op.warned).toEqual([]);
    // Nor is it sent with a change of something else.
    await up({ ...other(), enabled: false }, recorded);
    expect(b.bodies("PUT")).toHaveLength(1);
    expect(b.bodies("PUT")[0]).not.toHaveProperty("ownership_challenge");
  });

  test("keeps its token through a refresh, as the service never gives it back", async () => {
    expect((await new Operation(b.api).refresh(TYPE, recorded))?.inputs).toEqual(recorded.inputs);
  });

  test("that is to push elsewhere needs a token for there", async () => {
    const moved = { ...omit(inputs, ["ownershipChallenge"]), destinationConf: ELSEWHERE };
    const { message, recorded: half } = await new Operation(b.api).failedUp(TYPE, moved, recorded);
    expect(message).toContain("was not changed: prove that you own s3://other-logs/http.");
    expect(half).toBeUndefined();
    expect(b.sent("POST", "PUT")).toEqual(["POST /ownership"]);

    const old = { ...moved, ownershipChallenge: inputs["ownershipChallenge"] };
    expect(await new Operation(b.api).refusals(TYPE, old, recorded)).toEqual([
      expect.stringContaining("ownershipChallenge: was issued for s3://shop-logs/http/{DATE}"),
    ]);

    const fresh = { ...moved, ownershipChallenge: await token(ELSEWHERE) };
    await up(fresh, recorded);
    expect(b.bodies("PUT")).toMatchObject([
      { destination_conf: ELSEWHERE, ownership_challenge: fresh.ownershipChallenge },
    ]);
    expect(await b.one()).toMatchObject({ destination_conf: ELSEWHERE });
  });

  test("needs none for other parameters of the same bucket, nor is it given one that does not fit", async () => {
    const encrypted = { ...inputs, destinationConf: `${BUCKET}&sse=AES256` };
    await up(encrypted, recorded);
    expect(b.bodies("PUT")).toMatchObject([{ destination_conf: `${BUCKET}&sse=AES256` }]);
    expect(b.bodies("PUT")[0]).not.toHaveProperty("ownership_challenge");
  });
});

test("a token that has run out by the service's clock is refused by it, and the sentence says what to do", async () => {
  const inputs = { ...job, ownershipChallenge: await token() };
  b.api.advance(8 * DAY);
  const { message } = await new Operation(b.api, offline).failedUp(TYPE, inputs);
  expect(message).toContain("ownership_challenge is invalid: expired");
  expect(message).toContain("Remove ownershipChallenge and run `pulumi up`");
  expect(await b.stored()).toEqual([]);
});
