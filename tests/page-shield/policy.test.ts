import { type LocalApi, type LocalApiOptions, startLocalApi } from "edgeguard-local";
import { omit } from "../../provider/runtime/values";
import { envelope, failureOf, serve, through } from "../support/edge-client";
import { Operation, rawGet, rawSend, sent, type Recorded } from "../support/operation";

const TYPE = "PageShieldPolicy";
let api: LocalApi;
let path: string;
let policy: { readonly zoneId: string } & Record<string, unknown>;

async function start(options: LocalApiOptions = {}): Promise<void> {
  api = await startLocalApi(options);
  path = `/zones/${api.zones.empty}/page_shield/policies`;
  policy = {
    zoneId: api.zones.empty,
    description: "Checkout",
    action: "log",
    expression: 'http.host eq "www.empty.example"',
    value: "script-src 'self' cdn.example.com",
  };
}
beforeEach(() => start());
afterEach(() => api.close());

const stored = async () => (await rawGet(api, path))["result"] as Record<string, unknown>[];
const one = async () => (await stored())[0] ?? {};
const bodies = (method: string) =>
  api.requests.filter((r) => r.method === method).map(({ body }) => body as Record<string, unknown>);
/** Made beside us, as the dashboard would; its id. */
const made = async (more: object = {}): Promise<string> => {
  const fields = omit(policy, ["zoneId"]);
  const { result } = await rawSend(api, "POST", path, { ...fields, enabled: true, ...more });
  return (result as { id: string }).id;
};

describe("a life", () => {
  test("from create to destroy, twice destroyed", async () => {
    const recorded = await new Operation(api).up(TYPE, policy);
    expect(await stored()).toEqual([{ ...policy, zoneId: undefined, id: recorded.id, enabled: true }]);
    expect(recorded.outputs).toEqual({
      ...policy,
      enabled: true,
      schemaVersion: 1,
      __provider: expect.any(String) as string,
    });
    expect(sent(api, "POST", "PUT", "DELETE")).toEqual(["POST /policies"]);

    const changed = await new Operation(api).up(
      TYPE,
      { ...policy, description: "Till", enabled: false },
      recorded,
    );
    expect(changed.id).toBe(recorded.id);
    expect(await one()).toMatchObject({ description: "Till", enabled: false });

    await new Operation(api).destroy(TYPE, changed);
    expect(await stored()).toEqual([]);
    await new Operation(api).destroy(TYPE, changed);
    expect(await new Operation(api).refresh(TYPE, changed)).toBeUndefined();
  });

  test("destroys twice also where the service answers 404 the second time", async () => {
    await api.close();
    await start({ dialect: "seed" });
    const recorded = await new Operation(api).up(TYPE, policy);
    await new Operation(api).destroy(TYPE, recorded);
    await new Operation(api).destroy(TYPE, recorded);
    expect(api.requests.filter(({ method }) => method === "DELETE").map(({ status }) => status)).toEqual([
      200, 404,
    ]);
  });

  test("after an up, nothing is found or written by preview, refresh and another up", async () => {
    const recorded = await new Operation(api).up(TYPE, policy);
    api.clearRequests();
    expect(await new Operation(api).preview(TYPE, policy, recorded)).toMatchObject({ step: "same" });
    expect(sent(api)).toEqual([]);
    const refreshed = await new Operation(api).refresh(TYPE, recorded);
    expect(refreshed).toEqual(recorded);
    expect(await new Operation(api).preview(TYPE, policy, refreshed)).toMatchObject({ step: "same" });
    await new Operation(api).update(TYPE, recorded.inputs, recorded);
    expect(sent(api, "POST", "PUT", "DELETE")).toEqual([]);
  });

  test("in another zone is another policy", async () => {
    const recorded = await new Operation(api).up(TYPE, policy);
    const moved = { ...policy, zoneId: api.zones.blog };
    expect(await new Operation(api).preview(TYPE, moved, recorded)).toMatchObject({ replaces: ["zoneId"] });
    const there = await new Operation(api).up(TYPE, moved, recorded);
    expect(there.id).not.toBe(recorded.id);
    expect(await stored()).toEqual([]);
  });

  test("whose policy was deleted elsewhere says so at the update, and is made anew after a refresh", async () => {
    const recorded = await new Operation(api).up(TYPE, policy);
    await rawSend(api, "DELETE", `${path}/${recorded.id}`);
    const { message } = await new Operation(api).failedUp(TYPE, { ...policy, description: "Till" }, recorded);
    expect(message).toContain("returned 404 Not Found");
    expect(message).toContain("run `pulumi refresh`");
    expect(await new Operation(api).refresh(TYPE, recorded)).toBeUndefined();
  });
});

describe("the value", () => {
  test("is sent in canonical order, from text and from directives alike", async () => {
    const typed = { imgSrc: ["*"], scriptSrc: ["cdn.example.com", "'self'"] };
    const recorded = await new Operation(api).up(TYPE, { ...policy, value: typed });
    expect(bodies("POST")[0]).toMatchObject({ value: "script-src 'self' cdn.example.com; img-src *" });
    const text = "IMG-SRC *; script-src cdn.example.com 'self'";
    expect(await new Operation(api).preview(TYPE, { ...policy, value: text }, recorded)).toMatchObject({
      step: "same",
    });
  });

  test("that the service or a person wrote in another order is not drift", async () => {
    const recorded = await new Operation(api).up(TYPE, policy);
    await rawSend(api, "PUT", `${path}/${recorded.id}`, {
      value: "Script-Src  CDN.example.com 'self';",
      expression: ` ${String(policy["expression"])} `,
    });
    expect((await new Operation(api).refresh(TYPE, recorded))?.inputs).toEqual(recorded.inputs);
  });

  test("whose expression is wrong is refused with the place, or warned of", async () => {
    const unquoted = { ...policy, expression: "http.host eq www.empty.example" };
    expect(await new Operation(api).refusals(TYPE, unquoted)).toEqual([
      'expression: column 14: www.empty.example needs quotes. Write "www.empty.example"',
    ]);
    const op = new Operation(api);
    await op.preview(TYPE, { ...policy, expression: 'http.hots eq "www.empty.example"' });
    expect(op.warned).toEqual([
      `edgeguard: policy "Checkout": expression: column 1: Cloudflare doesn't document a field http.hots. Did you mean http.host?`,
    ]);
  });

  test("is no change where only the notation of its expression differs, in the program or at Cloudflare", async () => {
    const recorded = await new Operation(api).up(TYPE, policy);
    const other = { ...policy, expression: 'http.host=="www.empty.example"' };
    expect(await new Operation(api).preview(TYPE, other, recorded)).toMatchObject({ step: "same" });
    await rawSend(api, "PUT", `${path}/${recorded.id}`, { expression: other.expression });
    const refreshed = await new Operation(api).refresh(TYPE, recorded);
    expect(refreshed?.outputs["expression"]).toBe(other.expression);
    expect(await new Operation(api).preview(TYPE, policy, refreshed)).toMatchObject({ step: "same" });
  });

  test("that is doubtful is warned of once, by the run that brings it", async () => {
    const doubtful = { ...policy, value: { scriptSrc: [] } };
    const op = new Operation(api);
    const recorded = await op.up(TYPE, doubtful);
    expect(op.warned).toEqual([
      expect.stringContaining("policy \"Checkout\": script-src has no source, which means 'none'"),
    ]);
    const again = new Operation(api);
    await again.preview(TYPE, doubtful, recorded);
    expect(again.warned).toEqual([]);
  });

  test("that is wrong is refused", async () => {
    const refused = (value: unknown) => new Operation(api).refusals(TYPE, { ...policy, value });
    expect(await refused("script-src 'self'; script-src a.com")).toEqual([
      "value: script-src is declared twice; browsers obey the first and ignore the other. Merge them into one",
    ]);
    expect(await refused({ imgSrc: 5, fontSrc: [5], scriptsrc: ["self"] })).toEqual([
      "value.imgSrc: has to be a list of sources, or true for a directive without sources; it is 5",
      expect.stringMatching(/^value\.fontSrc\[0\]: .* a string.* 5$/),
      'value.scriptsrc: "scriptsrc" is not a CSP directive. Did you mean "scriptSrc"?',
      "value.scriptsrc[0]: script-src has self without quotes, which is the name of a host. Write 'self', with single quotes",
    ]);
    expect(sent(api)).toEqual([]);
  });
});

describe("enabled is sent", () => {
  test.each([
    ["published", true],
    ["seed", "true"],
  ] as const)("in the %s dialect, strict: learned from what the zone holds", async (dialect, form) => {
    await api.close();
    await start({ dialect, strict: true });
    await made({ description: "Other", enabled: form });
    api.clearRequests();
    const recorded = await new Operation(api).up(TYPE, policy);
    await new Operation(api).up(TYPE, { ...policy, description: "Till" }, recorded);
    expect(api.requests.every(({ status }) => status === 200)).toBe(true);
    expect([...bodies("POST"), ...bodies("PUT")].map(({ enabled }) => enabled)).toEqual([form, form]);
  });

  test.each([
    ["published", ["true", true]],
    ["seed", ["true"]],
  ] as const)(
    "in the %s dialect, strict, with no example: as a string, then in the other form",
    async (dialect, forms) => {
      await api.close();
      await start({ dialect, strict: true });
      const op = new Operation(api);
      await op.up(TYPE, policy);
      expect(bodies("POST").map(({ enabled }) => enabled)).toEqual(forms);
      api.clearRequests();
      await op.up(TYPE, { ...policy, description: "Second" });
      expect(bodies("POST")).toHaveLength(1); // What was learned holds for the rest of the operation.
    },
  );

  const offline = { config: { "edgeguard:liveChecks": "false" } };
  const forms = (method: string) => bodies(method).map(({ enabled }) => enabled);
  /** Refusals that say neither code nor place. */
  const withoutPointers = () =>
    through(
      api,
      () => undefined,
      (text) => text.replace(/"source":\{[^}]*\}/g, '"x":0'),
    );

  test.each(["published", "seed"] as const)(
    "in the other form after a 400 without a pointer, and then first in the form that was accepted (%s)",
    async (dialect) => {
      await api.close();
      await start({ dialect, strict: true });
      const op = new Operation(await withoutPointers(), offline);
      await op.up(TYPE, policy);
      await op.up(TYPE, { ...policy, description: "Second" });
      expect(forms("POST")).toEqual(dialect === "seed" ? ["true", "true"] : ["true", true, true]);
      expect(await stored()).toHaveLength(2);
    },
  );

  test("as the zone accepts it, also where the zone shows the other form", async () => {
    await api.close();
    await start({ dialect: "published", strict: true });
    // The opposite of what it accepts.
    const lying = await through(
      api,
      () => undefined,
      (text) => text.replace(/"enabled":true/g, '"enabled":"true"'),
    );
    const recorded = await new Operation(lying, offline).up(TYPE, policy);
    api.clearRequests();
    const op = new Operation(lying, offline);
    await op.up(TYPE, { ...policy, description: "Second" });
    await op.up(TYPE, { ...policy, description: "Till" }, recorded);
    expect([...forms("POST"), ...forms("PUT")]).toEqual(["true", true, true]);
  });

  test.each([
    [
      "a refusal of the form, then one of the content",
      [
        ["/enabled", "expected a boolean"],
        ["/value", "no directive"],
      ],
      ["no directive"],
    ],
    [
      "a refusal of the content, then one of the form",
      [
        [undefined, "no directive"],
        ["/enabled", "expected text"],
      ],
      ["no directive"],
    ],
    [
      "two without a pointer",
      [
        [undefined, "expected a boolean"],
        [undefined, "no directive"],
      ],
      ["expected a boolean", "no directive"],
    ],
    [
      "the same twice",
      [
        [undefined, "too many rules"],
        [undefined, "too many rules"],
      ],
      ["too many rules"],
    ],
    [
      "two of the form",
      [
        ["/enabled", "expected a boolean"],
        ["/enabled", "expected text"],
      ],
      ["expected a boolean"],
    ],
  ] as const)("in both forms, and tells of %s what says more", async (_of, refusals, words) => {
    let posts = 0;
    const refusing = await serve((request, response) => {
      if (request.method === "GET") return void response.end(envelope([]));
      const [pointer, message] = refusals[posts] ?? [undefined, "asked too often"];
      posts += 1;
      const errors = [{ code: 10001, message, ...(pointer === undefined ? {} : { source: { pointer } }) }];
      response.writeHead(400).end(JSON.stringify({ success: false, errors, messages: [], result: null }));
    });
    const { message } = await new Operation(refusing, offline).failedUp(TYPE, policy);
    const told = ["expected a boolean", "expected text", "no directive", "too many rules"];
    expect(told.filter((each) => message.includes(each))).toEqual(words);
    expect(message.split(words[0])).toHaveLength(2);
    expect(posts).toBe(2);
  });

  test("in one form only where a 400 points at another member", async () => {
    const pointing = await serve((request, response) => {
      if (request.method === "GET") return void response.end(envelope([]));
      const errors = [{ code: 10001, message: "no", source: { pointer: "/value" } }];
      response.writeHead(400).end(JSON.stringify({ success: false, errors, messages: [], result: null }));
    });
    await new Operation(pointing, offline).failedUp(TYPE, policy);
    expect(pointing.seen.filter((each) => each.startsWith("POST"))).toHaveLength(1);
  });
});

describe("members that this version does not know", () => {
  test("survive an update, but for the service's own stamps", async () => {
    const recorded = await new Operation(api).up(TYPE, policy);
    await rawSend(api, "PUT", `${path}/${recorded.id}`, {
      scope: { a: [1] },
      updated_at: "then",
      version: 3,
    });
    await new Operation(api).up(TYPE, { ...policy, description: "Till" }, recorded);
    const body = bodies("PUT").at(-1);
    expect(body).toMatchObject({ scope: { a: [1] }, description: "Till" });
    expect(Object.keys(body ?? {}).sort()).toEqual([
      "action",
      "description",
      "enabled",
      "expression",
      "scope",
      "value",
    ]);
  });

  test("are set by extra, and watched for drift", async () => {
    const inputs = { ...policy, extra: { scope: { a: 1, b: [2] } } };
    const recorded = await new Operation(api).up(TYPE, inputs);
    expect(await one()).toMatchObject({ scope: { a: 1, b: [2] } });
    expect((await new Operation(api).refresh(TYPE, recorded))?.inputs).toEqual(recorded.inputs);
    await rawSend(api, "PUT", `${path}/${recorded.id}`, { scope: { a: 9 }, other: 1 });
    const refreshed = await new Operation(api).refresh(TYPE, recorded);
    expect(refreshed?.inputs["extra"]).toEqual({ scope: { a: 9 } });
    await new Operation(api).up(TYPE, inputs, refreshed);
    expect(await one()).toMatchObject({ scope: { a: 1, b: [2] }, other: 1 });
  });

  test("and are no longer declared are left out of the next update, which others survive", async () => {
    const recorded = await new Operation(api).up(TYPE, { ...policy, extra: { scope: 1, level: 2 } });
    await rawSend(api, "PUT", `${path}/${recorded.id}`, { other: 3 });
    const changed = await new Operation(api).up(TYPE, { ...policy, extra: { level: 2 } }, recorded);
    expect(bodies("PUT").at(-1)).toMatchObject({ level: 2, other: 3 });
    expect(bodies("PUT").at(-1)).not.toHaveProperty("scope");
    expect(changed.outputs["extra"]).toEqual({ level: 2 });
  });

  test.each(["id", "description", "action", "expression", "enabled", "value"])(
    "do not include %s",
    async (name) => {
      expect(await new Operation(api).refusals(TYPE, { ...policy, extra: { [name]: "x" } })).toEqual([
        `extra.${name}: is a known member of the API: set it by its own argument instead of extra`,
      ]);
    },
  );
});

describe("a policy that exists already", () => {
  test("and is equal in every field is adopted without a write: the preview says so, and what a destroy does", async () => {
    const id = await made({ value: "script-src cdn.example.com 'self'", enabled: "true" });
    api.clearRequests();
    const op = new Operation(api);
    const adopted = { object: `policy ${id} of zone ${policy.zoneId}`, onDestroy: "deletes it" };
    expect((await op.preview(TYPE, policy)).inputs["adopted"]).toEqual(adopted);
    const line = `edgeguard: PageShieldPolicy "Checkout" adopts the existing ${adopted.object}, which matches the program. Destroying the resource deletes it.`;
    expect(op.said).toEqual([line]);
    const recorded = await op.up(TYPE, policy);
    expect(recorded).toMatchObject({ id, outputs: { adopted } });
    expect(op.said).toEqual([line, expect.stringContaining("an interrupted rename left the older one")]);
    expect(sent(api, "POST", "PUT")).toEqual([]);
  });

  test("stays the adopted one in what is recorded: through an update, a refresh and an up that checks nothing live", async () => {
    await made();
    const recorded = await new Operation(api, { config: { "edgeguard:liveChecks": "false" } }).up(
      TYPE,
      policy,
    );
    const adopted = { object: expect.stringContaining("policy ") as string, onDestroy: "deletes it" };
    expect(recorded.inputs).not.toHaveProperty("adopted");
    expect(recorded.outputs["adopted"]).toEqual(adopted);
    const refreshed = await new Operation(api).refresh(TYPE, recorded);
    expect(refreshed?.inputs["adopted"]).toEqual(adopted);
    const changed = await new Operation(api).up(TYPE, { ...policy, action: "allow" }, refreshed);
    expect(changed).toMatchObject({ inputs: { adopted }, outputs: { adopted } });
  });

  test.each([
    ["description", "Other"],
    ["action", "allow"],
    ["expression", "true"],
    ["enabled", false],
    ["value", "script-src 'none'"],
  ])("but differs in %s is left alone", async (key, value) => {
    const id = await made({ [key]: value });
    const op = new Operation(api);
    const recorded = await op.up(TYPE, policy);
    expect(recorded.id).not.toBe(id);
    expect(await stored()).toHaveLength(2);
    expect(op.warned).toEqual(
      key === "description"
        ? []
        : [
            `edgeguard: policy "Checkout": zone ${policy.zoneId} already has this description on ${id} (different ${key}). ` +
              `It stays as it is, and a second policy is created. An interrupted \`pulumi up\` of this resource may have created ${id}. Set adopt: "takeOver" to change it instead of creating a second policy.`,
          ],
    );
  });

  test("and was left by an interrupted create of an older declaration is named, and adopted when that is said", async () => {
    const left = await new Operation(api).up(TYPE, { ...policy, value: "script-src 'none'" }); // Nothing of it is recorded.
    const op = new Operation(api);
    await op.preview(TYPE, policy);
    expect(op.warned).toEqual([
      expect.stringContaining(`An interrupted \`pulumi up\` of this resource may have created ${left.id}.`),
    ]);
    const taking = new Operation(api);
    expect((await taking.up(TYPE, { ...policy, adopt: "takeOver" })).id).toBe(left.id);
    expect(taking.warned).toEqual([]);
  });

  test("but does not give back a declared extra is taken over, and sent the extra", async () => {
    const id = await made();
    const recorded = await new Operation(api).up(TYPE, { ...policy, extra: { scope: 1 } });
    expect(recorded.id).toBe(id);
    expect(await stored()).toMatchObject([{ id, scope: 1 }]);
  });

  test('is refused with adopt: "never", in preview and in up, with its id', async () => {
    const id = await made();
    const inputs = { ...policy, adopt: "never" };
    expect(await new Operation(api).refusals(TYPE, inputs)).toEqual([
      expect.stringMatching(`^adopt: There is a policy .*${id}.* prevents adopting it`),
    ]);
    const offline = new Operation(api, { config: { "edgeguard:liveChecks": "false" } });
    const { message } = await offline.failedUp(TYPE, inputs);
    expect(message).toContain(id);
    expect(message).toContain('set adopt: "ifEqual"');
    expect(await stored()).toHaveLength(1);
  });

  test('is changed with adopt: "takeOver" where it has the description', async () => {
    const id = await made({ action: "allow", scope: 7 });
    const op = new Operation(api);
    const recorded = await op.up(TYPE, { ...policy, adopt: "takeOver" });
    expect(recorded).toMatchObject({
      id,
      outputs: { adopted: { changes: { action: { before: "allow", after: "log" } } } },
    });
    expect(op.said[0]).toContain(
      `takes over the existing policy ${id} of zone ${policy.zoneId} and changes action: "allow" → "log". Destroying the resource deletes it.`,
    );
    expect(await stored()).toEqual([expect.objectContaining({ id, action: "log", scope: 7 })]);
  });

  test('is not changed with adopt: "takeOver" where one equal in all fields is there too', async () => {
    await made({ action: "allow" });
    const id = await made();
    api.clearRequests();
    expect((await new Operation(api).up(TYPE, { ...policy, adopt: "takeOver" })).id).toBe(id);
    expect(sent(api, "PUT", "POST")).toEqual([]);
  });

  test.each([
    ["ifEqual", {}, "equal to this one"],
    ["takeOver", { action: "allow" }, 'with the description "Checkout"'],
  ])("several times is refused with adopt: %j, naming all ids", async (adopt, more, likeness) => {
    const ids = [await made(more), await made(more)];
    const [reason] = await new Operation(api).refusals(TYPE, { ...policy, adopt });
    expect(reason).toContain("There are 2 objects that could be adopted");
    expect(reason).toContain(`${likeness}: ${ids.join(", ")}. Delete all but one`);
  });

  test("does not matter to a policy that has its own already", async () => {
    const recorded = await new Operation(api).up(TYPE, { ...policy, adopt: "never" });
    await made({ description: "Till" });
    const op = new Operation(api);
    await op.up(TYPE, { ...policy, description: "Till", adopt: "never" }, recorded);
    expect(await stored()).toHaveLength(2);
  });
});

describe("a create is made once", () => {
  const create = async (kind: "dropBefore" | "dropAfter" | "truncated") => {
    api.fault({ match: { method: "POST" }, kind });
    const op = new Operation(api, { config: { "edgeguard:liveChecks": "false" }, inNoTime: api });
    return { recorded: await op.up(TYPE, policy), op };
  };

  test.each(["dropAfter", "truncated"] as const)("where its answer is lost (%s)", async (kind) => {
    const { recorded, op } = await create(kind);
    expect((await stored()).map(({ id }) => id)).toEqual([recorded.id]);
    expect(bodies("POST")).toHaveLength(1);
    expect(op.said.join()).toContain("was lost; it had been made, and is used");
  });

  test("where it did not arrive", async () => {
    const { recorded } = await create("dropBefore");
    expect((await stored()).map(({ id }) => id)).toEqual([recorded.id]);
    expect(bodies("POST")).toHaveLength(2);
  });

  test.each([500, 503])("where the service answered %i and had not made it", async (status) => {
    api.fault({ match: { method: "POST" }, kind: "status", status });
    const recorded = await new Operation(api, { inNoTime: api }).up(TYPE, policy);
    expect((await stored()).map(({ id }) => id)).toEqual([recorded.id]);
  });

  test("where the service returned 500 although it had made it", async () => {
    const between = await through(api, (method) => (method === "POST" ? 500 : undefined));
    const recorded = await new Operation(between).up(TYPE, policy);
    expect((await stored()).map(({ id }) => id)).toEqual([recorded.id]);
    expect(bodies("POST")).toHaveLength(1);
  });

  describe("where its answer is lost and the list lags behind", () => {
    const lagging = async (readLagMs: number) => {
      await api.close();
      await start({ readLagMs });
      api.fault({ match: { method: "POST" }, kind: "dropAfter" });
      return new Operation(api, { inNoTime: api });
    };
    /** What there is once the list has caught up. */
    const settled = async () => {
      api.advance(60_000);
      return (await stored()).map(({ id }) => id);
    };

    test.each([4_000, 5_000, 8_000])("by %i ms: is waited for", async (readLagMs) => {
      const recorded = await (await lagging(readLagMs)).up(TYPE, policy);
      expect(await settled()).toEqual([recorded.id]);
      expect(bodies("POST")).toHaveLength(1);
    });

    test("beyond that: both are named, the second is recorded, and none is deleted", async () => {
      const op = await lagging(12_000);
      const { message, recorded } = await op.failedUp(TYPE, policy);
      const [first, second] = await settled();
      expect(recorded?.id).toBe(second);
      expect(message).toBe(
        `policy "Checkout": an answer was lost, and ${path} now has 2 that are as declared: ${String(second)}, ${String(first)}. ` +
          `${String(second)} is recorded. ${String(first)} was left alone, for somebody else may have created it. ` +
          `If nobody did, delete it: DELETE ${path}/${String(first)}. Then run \`pulumi up\` again.`,
      );
      expect(sent(api, "POST", "DELETE")).toEqual(["POST /policies", "POST /policies"]);
      await rawSend(api, "DELETE", `${path}/${String(first)}`);
      expect(await new Operation(api).preview(TYPE, policy, recorded)).toMatchObject({ step: "same" });
    });

    test("for a minute: that there may be two is said", async () => {
      const op = await lagging(60_000);
      const recorded = await op.up(TYPE, policy);
      expect(await settled()).toContain(recorded.id);
      expect(op.warned.at(-1)).toMatch(
        /created by a second request.* there are two\. Check .*policies in a minute\.$/,
      );
    });

    test("and a second request is refused: the first one's policy is found", async () => {
      const op = await lagging(12_000);
      const refuse = () =>
        api.fault({ match: { method: "POST" }, kind: "status", status: 403, message: "quota" });
      refuse();
      const recorded = await op.up(TYPE, policy);
      expect(await settled()).toEqual([recorded.id]);
    });
  });

  test("by the operation after one that was killed between the POST and its record", async () => {
    await new Operation(api).up(TYPE, policy);
    const next = await new Operation(api).up(TYPE, policy);
    expect((await stored()).map(({ id }) => id)).toEqual([next.id]);
  });

  test("and gives up where the service never gives an answer", async () => {
    const op = new Operation(api, {
      config: { "edgeguard:liveChecks": "false", "edgeguard:maxRetries": "1" },
      inNoTime: api,
    });
    api.fault({ match: { method: "POST" }, kind: "status", status: 503, times: 50 });
    const failure = await failureOf(op.up(TYPE, policy));
    expect(failure.message).toContain('Creating policy "Checkout" in zone');
    expect(bodies("POST")).toHaveLength(2); // The first and one retry, each looked for before the next.
    expect(await stored()).toEqual([]);
  });
});

describe("what an allow policy would block", () => {
  const shop = () => ({ ...policy, zoneId: api.zones.shop, action: "allow" });
  const wouldBlock = async (more: object, previous?: Recorded) =>
    (await new Operation(api).preview(TYPE, { ...shop(), ...more }, previous)).inputs["wouldBlock"];

  test("is counted by URL and its first five are shown, of the pages that the expression names", async () => {
    const everywhere = (await wouldBlock({ expression: "true", value: "script-src 'none'" })) as {
      count: number;
      scripts: string[];
    };
    const all = "per_page=100&exclude_duplicates=false&exclude_cdn_cgi=false";
    const { result } = await rawGet(api, `/zones/${api.zones.shop}/page_shield/scripts?${all}`);
    const urls = (result as { url: string; host: string }[]).map(({ url }) => url).sort();
    expect(urls).toContain("https://tags.metrics.example/tag.js?id=M-20417&v=2"); // The content of another one.
    expect(urls).toContain("https://www.shop.example/cdn-cgi/challenge-platform/scripts/jsd/main.js");
    const { size } = new Set(urls);
    expect(everywhere).toEqual({ count: size, seen: size, scripts: [...new Set(urls)].slice(0, 5) });
    expect(api.requests.find(({ path }) => path.endsWith("/scripts"))?.query).toMatchObject({
      exclude_duplicates: "false",
      exclude_cdn_cgi: "false",
      order_by: "first_seen_at",
      direction: "asc",
    });

    const own = 'http.host eq "checkout.shop.example"';
    const there = (result as { url: string; host: string }[]).filter(
      ({ host }) => host === "checkout.shop.example",
    );
    const foreign = there
      .map(({ url }) => url)
      .filter((url) => !url.startsWith("https://checkout.shop.example/"));
    for (const expression of [own, `(${own})`]) {
      expect(await wouldBlock({ expression, value: "script-src 'self'" })).toEqual({
        count: new Set(foreign).size,
        seen: new Set(there.map(({ url }) => url)).size,
        scripts: [...new Set(foreign)].sort().slice(0, 5),
      });
    }
  });

  test("counts a URL once, however many pages load it", async () => {
    const twice = ["a.shop.example", "b.shop.example"].map((host) => ({
      url: "https://cdn.example/x.js",
      host,
    }));
    api.detect(api.zones.shop, { scripts: twice }, "replace");
    expect(await wouldBlock({ expression: "true", value: "script-src 'self'" })).toEqual({
      count: 1,
      seen: 1,
      scripts: ["https://cdn.example/x.js"],
    });
  });

  test("is none of those seen where all is allowed, and the preview says of how many", async () => {
    const op = new Operation(api);
    const expression = 'http.host in {"account.shop.example" "checkout.shop.example"}';
    const { inputs } = await op.preview(TYPE, {
      ...shop(),
      expression,
      value: "script-src http://*.example https:",
    });
    expect(inputs["wouldBlock"]).toEqual({ count: 0, seen: 10, scripts: [] });
    expect(op.said).toEqual([
      'edgeguard: policy "Checkout": would block 0 of the 10 active scripts seen on account.shop.example, checkout.shop.example.',
    ]);
  });

  test.each([
    ["action", "log"],
    ["enabled", false],
  ])("is not looked for where %s is %j", async (name, value) => {
    expect(await wouldBlock({ [name]: value })).toBeUndefined();
    expect(sent(api)).toEqual(["GET /policies"]);
  });

  test.each([
    [
      'http.host eq "chekout.shop.example"',
      "on chekout.shop.example,",
      "Did you mean checkout.shop.example?",
    ],
    [
      'http.host in {"checkout.shop.example" "static.example"}',
      "on static.example,",
      "Scripts were seen on account.shop.example, checkout.shop.example, www.shop.example.",
    ],
  ])("is not to be told for a host on which no script was seen: %s", async (expression, where, advice) => {
    const op = new Operation(api);
    await op.preview(TYPE, { ...shop(), expression, value: "script-src 'none'" });
    const [warning, ...more] = op.warned;
    expect(more).toEqual([]);
    expect(warning).toContain(`policy "Checkout": no active script has been seen ${where}`);
    expect(warning).toContain(advice);
  });

  test("is told in one line of many hosts on which no script was seen", async () => {
    const hosts = Array.from({ length: 40 }, (_, index) => `"shop${index}.example"`);
    const op = new Operation(api);
    await op.preview(TYPE, {
      ...shop(),
      expression: `http.host in {${hosts.join(" ")}}`,
      value: "script-src 'none'",
    });
    expect(op.warned).toEqual([
      expect.stringContaining(
        "seen on 40 of its hosts (shop0.example, shop1.example, shop2.example, shop3.example, shop4.example, …),",
      ),
    ]);
  });

  test("is not to be told where nothing has been seen at all", async () => {
    const op = new Operation(api);
    const { inputs } = await op.preview(TYPE, { ...policy, action: "allow" });
    expect(inputs["wouldBlock"]).toEqual({ count: 0, seen: 0, scripts: [] });
    expect(op.said).toEqual([]);
    expect(op.warned).toEqual([
      expect.stringContaining("no active script has been seen on any page of zone"),
    ]);
  });

  test("is not to be told with 'strict-dynamic'", async () => {
    const op = new Operation(api);
    const value = "script-src 'strict-dynamic' 'sha256-abc'";
    const { inputs } = await op.preview(TYPE, { ...shop(), expression: "true", value });
    expect(inputs["wouldBlock"]).toBeUndefined();
    expect(op.warned).toEqual([
      expect.stringContaining("only a browser can tell which scripts it would block"),
    ]);
  });

  test("is recorded, carried over unchanged, and looked at again only with a change", async () => {
    const inputs = { ...shop(), expression: "true", value: "script-src 'self'" };
    const recorded = await new Operation(api).up(TYPE, inputs);
    const before = recorded.outputs["wouldBlock"] as { count: number };
    expect(before.count).toBeGreaterThan(0);
    api.detect(api.zones.shop, { scripts: [{ url: "https://new.example/x.js" }] });
    api.clearRequests();
    expect(await new Operation(api).preview(TYPE, inputs, recorded)).toMatchObject({
      step: "same",
      inputs: { wouldBlock: before },
    });
    expect(sent(api)).toEqual([]);
    const refreshed = await new Operation(api).refresh(TYPE, recorded);
    expect(refreshed?.inputs["wouldBlock"]).toEqual(before);
    expect(await new Operation(api).preview(TYPE, inputs, refreshed)).toMatchObject({ step: "same" });
    expect(await wouldBlock({ ...inputs, description: "Till" }, recorded)).toMatchObject({
      count: before.count + 1,
    });
  });

  test("does not make a plan dirty by itself", async () => {
    const inputs = { ...shop(), expression: "true", value: "script-src 'self'" };
    const recorded = await new Operation(api).up(TYPE, inputs);
    const other = { ...recorded, outputs: { ...recorded.outputs, wouldBlock: { count: 99, scripts: [] } } };
    expect(await new Operation(api).preview(TYPE, inputs, other)).toMatchObject({ step: "same" });
  });

  test("may not be set by a program", async () => {
    const { inputs } = await new Operation(api).check(TYPE, {
      ...policy,
      wouldBlock: { count: 7, scripts: [] },
    });
    expect(inputs).not.toHaveProperty("wouldBlock");
  });
});

describe("a second enforced allow policy of a zone", () => {
  beforeEach(() => {
    const script = { url: "https://cdn.example.com/a.js", host: "www.empty.example" };
    api.detect(api.zones.empty, { scripts: [script] });
  });

  test("is warned of, with the id of the first", async () => {
    const id = await made({ action: "allow", description: "First" });
    const op = new Operation(api);
    await op.preview(TYPE, { ...policy, action: "allow" });
    expect(op.warned).toEqual([
      `edgeguard: policy "Checkout": zone ${policy.zoneId} already enforces another allow policy: ${id} "First". ` +
        "Browsers apply every policy of a page: visitors get only the scripts that each of them allows.",
    ]);
  });

  test("with the same description and another value is warned of first, with how to change the existing one", async () => {
    const other = await made({ action: "allow", description: "First" });
    const alike = await made({ action: "allow", value: "script-src 'none'" });
    for (const liveChecks of ["true", "false"]) {
      const op = new Operation(api, { config: { "edgeguard:liveChecks": liveChecks } });
      await op.up(TYPE, { ...policy, action: "allow", description: "Checkout" });
      expect(op.warned).toEqual([
        `edgeguard: policy "Checkout": zone ${policy.zoneId} already enforces 2 allow policies: ${alike} "Checkout" (same description, different value), ${other} "First". ` +
          "Browsers apply every policy of a page: visitors get only the scripts that each of them allows. " +
          `An interrupted \`pulumi up\` of this resource may have created ${alike}. Set adopt: "takeOver" to change it instead of creating a second policy.`,
      ]);
      const [, , second] = await stored();
      await rawSend(api, "DELETE", `${path}/${String(second?.["id"])}`);
    }
    const takeOver = new Operation(api);
    await takeOver.preview(TYPE, { ...policy, action: "allow", adopt: "takeOver" });
    expect(takeOver.warned).toEqual([expect.stringContaining(`another allow policy: ${other} "First".`)]);
  });

  test("with the same description is warned of when the resource's own value changes", async () => {
    const recorded = await new Operation(api).up(TYPE, { ...policy, action: "allow" });
    const twin = await made({ action: "allow", value: "script-src 'none'" });
    const op = new Operation(api);
    await op.preview(TYPE, { ...policy, action: "allow", value: "script-src https://*.example" }, recorded);
    expect(op.warned).toEqual([
      expect.stringContaining(`another allow policy: ${twin} "Checkout" (same description`),
    ]);
  });

  test.each([
    ["the other is off", { enabled: false }, {}],
    ["the other only logs", { action: "log" }, {}],
    ["this one is off", {}, { enabled: false }],
    ["this one only logs", {}, { action: "log" }],
  ])("is not, where %s", async (_why, other, own) => {
    await made({ action: "allow", description: "First", ...other });
    const op = new Operation(api);
    await op.preview(TYPE, { ...policy, action: "allow", ...own });
    expect(op.warned).toEqual([]);
  });

  test("is not the policy itself, when it changes", async () => {
    const recorded = await new Operation(api).up(TYPE, { ...policy, action: "allow" });
    const op = new Operation(api);
    await op.up(TYPE, { ...policy, action: "allow", description: "Till" }, recorded);
    expect(op.warned).toEqual([]);
  });
});

describe("drift", () => {
  test.each([
    ["description", "Else", "Else"],
    ["action", "allow", "allow"],
    ["expression", "true", "true"],
    ["enabled", false, false],
    ["value", "script-src 'none'", "script-src 'none'"],
  ])("of %s is shown and mended", async (key, value, shown) => {
    const recorded = await new Operation(api).up(TYPE, policy);
    await rawSend(api, "PUT", `${path}/${recorded.id}`, { [key]: value });
    const refreshed = await new Operation(api).refresh(TYPE, recorded);
    expect(refreshed?.inputs).toEqual({ ...recorded.inputs, [key]: shown });
    await new Operation(api).up(TYPE, policy, refreshed);
    const fields = omit(policy, ["zoneId"]);
    expect(await one()).toEqual({ ...fields, enabled: true, id: recorded.id });
  });

  /** What no program may declare, but a dashboard or a later version of the service may store. */
  test.each([
    ["action", "block_everything", "block_everything"],
    ["value", "script-src self", "script-src self"],
    ["value", "", ""],
    ["description", null, ""],
    ["expression", "", ""],
  ])("to a %s of %j is shown, mended and destroyed like any other", async (key, value, shown) => {
    const recorded = await new Operation(api).up(TYPE, policy);
    const { result } = await rawGet(api, `${path}/${recorded.id}`);
    const body = JSON.stringify({ success: true, result: { ...(result as object), [key]: value } });
    const drifted = () =>
      api.fault({
        match: { method: "GET" },
        kind: "raw",
        status: 200,
        body,
        contentType: "application/json",
      });
    drifted();
    const refreshed = (await new Operation(api).refresh(TYPE, recorded)) as Recorded;
    expect(refreshed.inputs).toEqual({ ...recorded.inputs, [key]: shown });
    drifted();
    expect((await new Operation(api).refresh(TYPE, refreshed))?.inputs).toEqual(refreshed.inputs);
    drifted();
    const mended = await new Operation(api, { config: { "edgeguard:liveChecks": "false" } }).up(
      TYPE,
      policy,
      refreshed,
    );
    expect(mended.outputs).toEqual(recorded.outputs);
    expect(bodies("PUT")).toHaveLength(1);
    await new Operation(api).destroy(TYPE, refreshed);
    expect(await stored()).toEqual([]);
  });
});

describe("a refusal of the service", () => {
  test("for lack of the entitlement passes its words on, with advice", async () => {
    const op = new Operation(api, { config: { "edgeguard:liveChecks": "false" } });
    const { message, recorded } = await op.failedUp(TYPE, { ...policy, zoneId: api.zones.free });
    expect(message).toContain(
      "exceeded the maximum number of rules in the phase http_response_page_shield: 1 out of 0 [code 10011]",
    );
    expect(message).toContain("whether the plan includes Page Shield policies");
    expect(recorded).toBeUndefined();
    expect(bodies("POST").map(({ enabled }) => enabled)).toEqual(["true", true]); // The 400 points at nothing.
  });

  test("of what only informs a reviewer is a warning, and the preview goes on", async () => {
    const op = new Operation(api);
    expect(await op.preview(TYPE, { ...policy, zoneId: api.zones.free, action: "allow" })).toMatchObject({
      step: "create",
    });
    expect(op.warned).toEqual([
      expect.stringMatching(/^edgeguard: live check skipped: Listing the scripts of zone .* 403 /),
    ]);
  });

  test("of the action add_reporting_directives is warned of beforehand", async () => {
    const op = new Operation(api);
    await op.preview(TYPE, { ...policy, action: "add_reporting_directives" });
    expect(op.warned).toEqual([
      expect.stringContaining("add_reporting_directives is known from the OpenAPI only"),
    ]);
  });
});
