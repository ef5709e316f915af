import { type LocalApi, startLocalApi } from "edgeguard-local";
import { forwarder } from "../../provider/runtime/forwarder";
import { providerProcess } from "../support/provider-process";

const CANARY = {
  token: "c4nary-token-aaaaaaaaaaaaaaaaaaaaaaaaaa",
  other: "c4nary-other-bbbbbbbbbbbbbbbbbbbbbbbbbb",
  email: "c4nary+mail@example.com",
  key: "c4nary-key-cccccccccccccccccccccccccc",
};

let api: LocalApi;
beforeEach(async () => {
  api = await startLocalApi({ credentials: [{ token: CANARY.token }, { token: CANARY.other }] });
});
afterEach(() => api.close());

/** Runs `script` in the provider's process; what it printed, and the JSON that it handed to `give`. */
async function inProvider(script: string, more: Record<string, string> = {}) {
  const provider = providerProcess(
    { "edgeguard:baseUrl": api.url, "edgeguard:apiToken": CANARY.token, "edgeguard:maxRetries": "0" },
    `const detailsOf = (e) => ({ message: e.message, stack: e.stack, text: String(e), id: e.id, properties: e.properties, reasons: e.reasons });
     const failing = (promise) => promise.then((r) => { throw new Error("did not fail: " + JSON.stringify(r)); }, detailsOf);
     const zoneId = "${api.zones.empty}";
     ${script}
     process.exit(0);`,
    {
      CLOUDFLARE_API_TOKEN: CANARY.other,
      CLOUDFLARE_EMAIL: CANARY.email,
      CLOUDFLARE_API_KEY: CANARY.key,
      ...more,
    },
  );
  const code = await provider.ended;
  if (code !== 0) throw new Error(`exit ${code}: ${provider.output()}`);
  return provider.output();
}

/** The last line that is JSON. */
function given(output: string): unknown {
  const line = output
    .split("\n")
    .filter((text) => text.startsWith("GIVEN "))
    .at(-1);
  return JSON.parse(line?.slice(6) ?? "null");
}

test("reports a failed create as one sentence on the resource, with a summary and no stack trace", async () => {
  api.fault({ match: {}, kind: "status", status: 503, message: "down" });
  const output = await inProvider(
    `const e = await failing(runtime.create("PageShieldSettings", { zoneId, enabled: true }));
     console.log("GIVEN " + JSON.stringify(e));`,
  );
  expect(given(output)).toEqual({
    message: expect.stringMatching(
      /^Reading Page Shield settings of zone \w+ failed: .*Run the command again\.$/,
    ) as string,
    stack: "see the error on the resource (set EDGEGUARD_DEBUG=1 for a stack trace)",
    text: "edgeguard: PageShieldSettings could not be created",
  });
});

test("refuses a resource type unknown to this version, and says what to install", async () => {
  const output = await inProvider(
    `const e = await failing(runtime.delete("KvTable", "id", {}));
     console.log("GIVEN " + JSON.stringify(e));`,
  );
  expect(given(output)).toMatchObject({
    message:
      "this version of pulumi-edgeguard has no resource type KvTable. Install the version that wrote the state, or a later one",
    text: "edgeguard: KvTable could not be deleted",
  });
});

test("a partial failure includes the ID, the outputs to record, and the reason", async () => {
  api.fault({ match: { method: "PUT" }, kind: "dropAfter" });
  const output = await inProvider(
    `const inputs = { zoneId, enabled: true, __provider: "the forwarder" };
     const e = await failing(runtime.create("PageShieldSettings", inputs));
     console.log("GIVEN " + JSON.stringify(e));`,
  );
  const error = given(output) as { message: string };
  expect(error).toMatchObject({
    id: api.zones.empty,
    properties: {
      enabled: true,
      previous: { enabled: false },
      schemaVersion: 1,
      __provider: "the forwarder",
    },
    reasons: [error.message],
  });
});

test("missing credentials fail the operation that needs them, not the check", async () => {
  const output = await inProvider(
    `config["edgeguard:apiToken"] = undefined;
     const inputs = { zoneId, enabled: true };
     const checked = await runtime.check("PageShieldSettings", {}, inputs);
     const e = await failing(runtime.create("PageShieldSettings", inputs));
     console.log("GIVEN " + JSON.stringify([checked.failures, e.message]));`,
    { CLOUDFLARE_API_TOKEN: "", CLOUDFLARE_EMAIL: "", CLOUDFLARE_API_KEY: "" },
  );
  expect(given(output)).toEqual([
    [],
    expect.stringContaining(
      "needs credentials, and CLOUDFLARE_API_TOKEN, CLOUDFLARE_EMAIL and CLOUDFLARE_API_KEY are empty",
    ) as string,
  ]);
  expect(api.requests).toHaveLength(0);
});

test("creates many resources at once without Node.js warnings, which users would see", async () => {
  const output = await inProvider(
    `const inputs = { zoneId, description: "d", action: "log", expression: "true", value: "script-src 'self'", enabled: true };
     await Promise.all(Array.from({ length: 30 }, (_, i) => runtime.create("PageShieldPolicy", { ...inputs, description: "policy " + i, zoneId: ${JSON.stringify([api.zones.shop, api.zones.empty])}[i % 2] })));
     await Promise.all(Array.from({ length: 30 }, () => runtime.check("PageShieldPolicy", {}, inputs)));`,
  );
  expect(output).toBe("");
  expect(api.requests.filter(({ method, status }) => method === "POST" && status === 200)).toHaveLength(30);
});

/** A policy of an earlier operation. */
async function policyMadeByHand(): Promise<string> {
  const response = await fetch(`${api.url}/zones/${api.zones.empty}/page_shield/policies`, {
    method: "POST",
    headers: { authorization: `Bearer ${CANARY.token}`, "content-type": "application/json" },
    body: JSON.stringify({
      description: "theirs",
      action: "log",
      expression: "true",
      enabled: true,
      value: "script-src 'self'",
    }),
  });
  const { result } = (await response.json()) as { result: { id: string } };
  return result.id;
}

test("no secret leaves the runtime: not in results, errors, output, debug lines or the forwarder", async () => {
  const echo = Object.values(CANARY).join(" ");
  const page = { kind: "raw", status: 500, body: `${"x".repeat(90)}${echo}` } as const;
  const refused = { kind: "status", status: 403, message: `you are ${echo}` } as const;
  const theirs = await policyMadeByHand();
  // 1. A life that goes well. 2. Refusals that send back what they were sent. 3. Half-done work. 4. A wrong argument.
  const output = await inProvider(
    `const inputs = { zoneId, description: "d", action: "allow", expression: "true", value: "script-src 'self'", enabled: true, __provider: ${JSON.stringify(forwarder("PageShieldPolicy"))} };
     const all = [];
     const T = "PageShieldPolicy", S = "PageShieldSettings";
     all.push(await runtime.check(T, {}, inputs));
     const made = await runtime.create(T, inputs);
     all.push(made, await runtime.diff(T, made.id, made.outs, inputs), await runtime.read(T, made.id, made.outs));
     all.push(await runtime.update(T, ${JSON.stringify(theirs)}, { ...made.outs, description: "theirs" }, { ...inputs, description: "e" }));
     const fault = (f) => fetch("${new URL("/__local/faults", api.url).href}", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(f) });
     for (const f of ${JSON.stringify([page, refused])}) {
       await fault({ match: {}, times: 30, ...f });
       all.push(await failing(runtime.create(T, { ...inputs, description: "f" })), await failing(runtime.read(T, made.id, made.outs)));
       all.push(await failing(runtime.update(T, made.id, made.outs, inputs)), await runtime.check(T, {}, { ...inputs, description: "g" }));
       await fetch("${new URL("/__local/faults", api.url).href}", { method: "DELETE" });
     }
     await fault({ match: { method: "PUT" }, times: 9, ...${JSON.stringify(page)} });
     all.push(await failing(runtime.create(S, { zoneId, enabled: true })));
     for (const secret of ${JSON.stringify(Object.values(CANARY))}) all.push(await runtime.check(T, {}, { ...inputs, zoneId: secret, action: secret, adopt: secret, [secret]: 1 }));
     all.push(await runtime.delete(T, made.id, made.outs));
     console.log("GIVEN " + JSON.stringify(all.map((one) => JSON.stringify(one, (k, v) => (k === "inputs" ? undefined : v)))));`,
    { EDGEGUARD_DEBUG: "1" },
  );
  expect(output).toContain("[secret]");
  expect(output).toContain("edgeguard: debug: GET ");
  expect(output).toContain("    at "); // With EDGEGUARD_DEBUG=1 errors do have a trace.
  const shown = output.split("\n").map((line) => line.replace(/"property\\*":\\*"[^"\\]*\\*"/g, ""));
  expect(shown.filter((line) => line.includes("c4nary"))).toEqual([]);
});
