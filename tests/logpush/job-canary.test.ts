import { destination } from "pulumi-edgeguard";
import { omit } from "../../provider/basics/json";
import { rawSend, type Operation, type Recorded } from "../support/operation";
import { LogpushBench, TYPE, type Members } from "./support";
import { answerWith } from "../support/bench";
import { typedDestination } from "../../provider/logpush/destination-schemes";

/** The credentials of a destination and a token appear in no message, and in no part of the state but the two secret ones. */

const CANARY = "c4nary/key+of=every&kind";
const ACCOUNT = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";
const KEYS = { accessKeyId: "c4nary-access-key-id", secretAccessKey: CANARY };
const SECRET = ["destinationConf", "ownershipChallenge"];

const DESTINATIONS: Readonly<Record<string, (host: string) => unknown>> = {
  s3: (bucket) => destination.s3({ bucket, path: "{DATE}", region: "us-east-1", ...KEYS }),
  r2: (bucket) => destination.r2({ bucket, accountId: ACCOUNT, ...KEYS }),
  gs: (bucket) => destination.gs({ bucket }),
  azure: (host) =>
    destination.azure({
      sasUrl: `https://${host}.example.com/logs?sv=2022&sig=${encodeURIComponent(CANARY)}`,
    }),
  https: (host) =>
    destination.https({
      url: `https://shop:c4naryPassword@${host}.example.com/c4nary-token-in-its-path?Api-Key=${encodeURIComponent(CANARY)}`,
      headers: { Authorization: `Basic ${Buffer.from(CANARY).toString("base64")}`, "X-Key": CANARY },
    }),
  splunk: (host) =>
    destination.splunk({
      endpoint: `${host}.example.com:8088/services/collector/raw`,
      channel: "0f8a",
      token: CANARY,
    }),
  datadog: (host) => destination.datadog({ endpoint: `${host}.example.com/api/v2/logs`, apiKey: CANARY }),
  sumo: (host) =>
    destination.sumo({ url: `https://${host}.example.com/receiver/v1/http/c4naryCollectorCode` }),
};

/** What must not appear, in the forms that the API may return it in. */
const FORBIDDEN = [
  "c4nary",
  Buffer.from(CANARY).toString("base64").slice(0, 20),
  encodeURIComponent(Buffer.from(CANARY).toString("base64")).slice(0, 20),
];

const b = new LogpushBench(true);
/** All messages, warnings and errors. */
let shown: string[];
let states: (Recorded | undefined)[];
beforeEach(() => {
  shown = [];
  states = [];
});

async function within<T>(work: (op: Operation) => Promise<T>): Promise<T> {
  const op = b.operation({
    env: { EDGEGUARD_DEBUG: "1" },
    config: { "edgeguard:maxRetries": "0", "edgeguard:liveChecks": "false" },
  });
  try {
    return await work(op);
  } finally {
    shown.push(...op.said, ...op.warned);
  }
}

async function failing(inputs: Members, previous?: Recorded): Promise<void> {
  const { error, recorded } = await within((op) => op.failedUp(TYPE, inputs, previous));
  shown.push(error.message, error.stack ?? "", JSON.stringify(Reflect.get(error, "reasons") ?? ""));
  states.push(recorded);
}

test.each(Object.keys(DESTINATIONS))(
  "never shows a credential in a destination of type %s",
  async (scheme) => {
    const first = DESTINATIONS[scheme]?.("first");
    const second = DESTINATIONS[scheme]?.("second");
    const text = typedDestination.parse(first);
    const tokenOf = async (destination_conf: unknown): Promise<string> => {
      await rawSend(b.api, "POST", b.jobs.replace("/jobs", "/ownership"), { destination_conf });
      const place = new RegExp(`^${scheme}/.*first|second`);
      const file = b.api.logpush
        .files()
        .find(({ path }) => path.startsWith(`${scheme}/`) && place.test(path));
      return b.api.logpush.read(file?.path ?? "");
    };
    const proven = ["gs", "azure", "sumo"].includes(scheme);
    const ownershipChallenge = proven ? await tokenOf(text) : undefined;
    const inputs = { ...b.job, name: `canary-${scheme}`, destinationConf: first };
    const full = { ...inputs, ...(ownershipChallenge === undefined ? {} : { ownershipChallenge }) };
    const bare = text.includes(encodeURIComponent(CANARY)) ? CANARY : "";
    const echo = `cannot use ${text}, that is ${decodeURIComponent(text)} or ${encodeURIComponent(text)} with ${bare}, ${ownershipChallenge ?? ""}`;
    const echoed = (method: string) =>
      b.api.fault({ match: { method }, kind: "status", status: 400, code: 1002, message: echo });

    // 1. Every way that a create can fail.
    if (proven) await failing(inputs);
    echoed("GET");
    await failing(full);
    echoed("POST");
    await failing(full);
    b.api.fault({ match: { method: "GET" }, kind: "raw", status: 500, body: `<html>${echo}</html>` });
    await failing(full);
    const recorded = await within((op) => op.up(TYPE, full));
    states.push(recorded);

    // 2. The job's health quotes the destination, and so does a message of the API.
    b.api.logpush.setHealth(Number(recorded.id), { last_error: "2026-02-03T10:00:00Z", error_message: echo });
    const job = (await b.stored()).find(({ id }) => id === Number(recorded.id));
    answerWith(b.api, { method: "GET" }, job, { messages: [{ code: 1000, message: echo }] });
    const sick = await within((op) => op.refresh(TYPE, recorded));
    expect(sick?.outputs["errorMessage"]).toMatch(/cannot use|isn't shown/);
    states.push(sick);

    // 3. A failed update, a new destination, drift, and a failed delete.
    echoed("PUT");
    await failing({ ...full, enabled: false }, recorded);
    if (proven) await failing({ ...inputs, destinationConf: second }, recorded);
    else states.push(await within((op) => op.up(TYPE, { ...inputs, destinationConf: second }, recorded)));
    await b.changed(recorded.id, { destination_conf: text.replace("first", "third") });
    states.push(await within((op) => op.refresh(TYPE, recorded)));
    echoed("DELETE");
    await within((op) => op.destroy(TYPE, recorded)).catch((error: unknown) =>
      shown.push((error as Error).message),
    );

    // 4. Invalid input that contains the credential.
    const broken = [
      text.replace("://", ":/"),
      text.replace(scheme, `${scheme}x`),
      `${text}&<x>`,
      `${text} `.repeat(99),
    ];
    for (const destinationConf of [
      ...broken,
      { ...(first as object), extra: CANARY },
      [CANARY],
      { scheme: CANARY },
    ]) {
      const refused = await within((op) => op.refusals(TYPE, { ...full, destinationConf }));
      expect(refused.length).toBeGreaterThan(0);
      shown.push(...refused);
    }
    shown.push(
      ...(await within((op) => op.refusals(TYPE, { ...full, ownershipChallenge: { token: CANARY } }))),
    );

    expect(shown.length).toBeGreaterThan(12);
    expect(shown.join("\n")).toMatch(/\[secret\]|isn't shown/);
    const plain = states.map((state) =>
      state === undefined ? {} : [omit(state.inputs, SECRET), omit(state.outputs, SECRET)],
    );
    for (const word of [...FORBIDDEN, ...(ownershipChallenge === undefined ? [] : [ownershipChallenge])]) {
      expect(shown.join("\n")).not.toContain(word);
      expect(JSON.stringify(plain)).not.toContain(word);
    }
    await rawSend(b.api, "DELETE", `${b.jobs}/${recorded.id}`);
  },
);
