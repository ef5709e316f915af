import type { Blocked, WouldBlock } from "../../provider/page-shield/impact";
import { omit } from "../../provider/basics/json";
import { HIDDEN } from "../../provider/runtime/hidden";
import { envelope, failureOf, serve, through } from "../support/edge-client";
import { driftOf } from "../report/plans";
import { answerWith, Bench, OFFLINE, zones } from "../support/bench";
import { Operation, rawGet, rawSend, refreshedInputs, type Recorded } from "../support/operation";

const TYPE = "PageShieldPolicy";
const b = new Bench(TYPE);
const PATH = `/zones/${zones.empty}/page_shield/policies`;
const policy = {
  zoneId: zones.empty,
  description: "Checkout",
  action: "log",
  expression: 'http.host eq "www.empty.example"',
  value: "script-src 'self' cdn.example.com",
};

const stored = async () => (await rawGet(b.api, PATH))["result"] as Record<string, unknown>[];
const one = async () => (await stored())[0] ?? {};
/** Changes a policy as the dashboard does. */
const edit = ({ id }: Recorded, change: object) => rawSend(b.api, "PUT", `${PATH}/${id}`, change);
/** Creates a policy outside the program, as the dashboard would, and returns its ID. */
const createElsewhere = async (more: object = {}): Promise<string> => {
  const fields = omit(policy, ["zoneId"]);
  const { result } = await rawSend(b.api, "POST", PATH, { ...fields, enabled: true, ...more });
  return (result as { id: string }).id;
};

describe("a PageShieldPolicy", () => {
  test("is created as declared, with one request", async () => {
    const recorded = await b.up(policy);
    expect(await stored()).toEqual([{ ...policy, zoneId: undefined, id: recorded.id, enabled: true }]);
    expect(recorded.outputs).toEqual({
      ...policy,
      enabled: true,
      impact: { operation: "check", revision: 1, seen: ["existingPolicy"] },
      schemaVersion: 1,
      __provider: expect.any(String) as string,
    });
    expect(b.sent("POST", "PUT", "DELETE")).toEqual(["POST /policies"]);
  });

  test("can be destroyed again if the API returns 404", async () => {
    await b.restart({ dialect: "documented" });
    const recorded = await b.up(policy);
    await b.destroy(recorded);
    await b.destroy(recorded);
    expect(b.api.requests.filter(({ method }) => method === "DELETE").map(({ status }) => status)).toEqual([
      200, 404,
    ]);
  });
});

describe("in a PageShieldPolicy", () => {
  test("the value is sent in canonical order, whether it's text or an object", async () => {
    const typed = { imgSrc: ["*"], scriptSrc: ["cdn.example.com", "'self'"] };
    const recorded = await b.up({ ...policy, value: typed });
    expect(b.bodies("POST")[0]).toMatchObject({ value: "script-src 'self' cdn.example.com; img-src *" });
    const text = "IMG-SRC *; script-src cdn.example.com 'self'";
    expect(await b.step({ ...policy, value: text }, recorded)).toBe("same");
  });

  test("the value doesn't drift if the API stores it in another order", async () => {
    const recorded = await b.up(policy);
    await edit(recorded, {
      value: "Script-Src  CDN.example.com 'self';",
      expression: ` ${policy.expression} `,
    });
    expect((await b.refresh(recorded)).inputs).toEqual(refreshedInputs(recorded));
  });

  test("another notation of the same expression isn't a change", async () => {
    const recorded = await b.up(policy);
    const other = { ...policy, expression: 'http.host=="www.empty.example"' };
    expect(await b.step(other, recorded)).toBe("same");
    await edit(recorded, { expression: other.expression });
    const refreshed = await b.refresh(recorded);
    expect(refreshed.outputs["expression"]).toBe(policy.expression);
    expect(await b.step(policy, refreshed)).toBe("same");
  });

  test("a questionable value causes one warning, when it changes", async () => {
    const doubtful = { ...policy, value: { scriptSrc: [] } };
    const op = b.operation();
    const recorded = await op.up(TYPE, doubtful);
    expect(op.warned).toEqual([
      expect.stringContaining("policy \"Checkout\": script-src has no sources, which is the same as 'none'"),
    ]);
    expect(await b.warnings(doubtful, recorded)).toEqual([]);
  });

  test("an invalid value fails the preview", async () => {
    const refused = (value: unknown) => b.refusals({ ...policy, value });
    expect(await refused({ imgSrc: 5, fontSrc: [5], scriptsrc: ["self"] })).toEqual([
      "value.imgSrc: must be a list of sources, or true for a directive without sources, not 5",
      expect.stringMatching(/^value\.fontSrc\[0\]: .* a string.* 5$/),
      'value.scriptsrc: "scriptsrc" is not a CSP directive. Did you mean "scriptSrc"?',
      "value.scriptsrc[0]: script-src has self without quotes, so browsers treat it as a hostname. Write 'self', with single quotes",
    ]);
    expect(b.sent()).toEqual([]);
  });
});

describe("a policy's enabled field", () => {
  test.each([
    ["openapi", true],
    ["documented", "true"],
  ] as const)(
    "is sent with the type that the zone's policies use (API dialect: %s, strict)",
    async (dialect, form) => {
      await b.restart({ dialect, strict: true });
      await createElsewhere({ description: "Other", enabled: form });
      b.api.clearRequests();
      const recorded = await b.up(policy);
      await b.up({ ...policy, description: "Till" }, recorded);
      expect(b.api.requests.every(({ status }) => status === 200)).toBe(true);
      expect([...b.bodies("POST"), ...b.bodies("PUT")].map(({ enabled }) => enabled)).toEqual([form, form]);
    },
  );

  test.each([
    ["openapi", ["true", true]],
    ["documented", ["true"]],
  ] as const)(
    "is sent as a string first, then as a boolean, if the zone has no policies (API dialect: %s, strict)",
    async (dialect, forms) => {
      await b.restart({ dialect, strict: true });
      const op = b.operation();
      await op.up(TYPE, policy);
      expect(b.bodies("POST").map(({ enabled }) => enabled)).toEqual(forms);
      b.api.clearRequests();
      await op.up(TYPE, { ...policy, description: "Second" });
      expect(b.bodies("POST")).toHaveLength(1); // The operation remembers the accepted form.
    },
  );

  const forms = (method: string) => b.bodies(method).map(({ enabled }) => enabled);
  /** Errors without `source.pointer`. */
  const withoutPointers = () =>
    through(
      b.api,
      () => undefined,
      (text) => text.replace(/"source":\{[^}]*\}/g, '"x":0'),
    );

  test.each(["openapi", "documented"] as const)(
    "is sent with the other type after a 400 without a pointer, and with the accepted type from then on (API dialect: %s)",
    async (dialect) => {
      await b.restart({ dialect, strict: true });
      const op = new Operation(await withoutPointers(), OFFLINE);
      await op.up(TYPE, policy);
      await op.up(TYPE, { ...policy, description: "Second" });
      expect(forms("POST")).toEqual(dialect === "documented" ? ["true", "true"] : ["true", true, true]);
      expect(await stored()).toHaveLength(2);
    },
  );

  test("is sent with the type that the zone accepts, even if the zone returns the other type", async () => {
    await b.restart({ dialect: "openapi", strict: true });
    // Returns strings but accepts only booleans.
    const misleading = await through(
      b.api,
      () => undefined,
      (text) => text.replace(/"enabled":true/g, '"enabled":"true"'),
    );
    const recorded = await new Operation(misleading, OFFLINE).up(TYPE, policy);
    b.api.clearRequests();
    const op = new Operation(misleading, OFFLINE);
    await op.up(TYPE, { ...policy, description: "Second" });
    await op.up(TYPE, { ...policy, description: "Till" }, recorded);
    expect([...forms("POST"), ...forms("PUT")]).toEqual(["true", true, true]);
  });

  test.each([
    [
      "an error about the type, then one about the policy",
      [
        ["/enabled", "expected a boolean"],
        ["/value", "no directive"],
      ],
      ["no directive"],
    ],
    [
      "an error about the policy, then one about the type",
      [
        [undefined, "no directive"],
        ["/enabled", "expected text"],
      ],
      ["no directive"],
    ],
    [
      "two errors without a pointer",
      [
        [undefined, "expected a boolean"],
        [undefined, "no directive"],
      ],
      ["no directive"],
    ],
    [
      "the same error twice",
      [
        [undefined, "too many rules"],
        [undefined, "too many rules"],
      ],
      ["too many rules"],
    ],
    [
      "two errors about the type",
      [
        ["/enabled", "expected a boolean"],
        ["/enabled", "expected text"],
      ],
      ["expected a boolean"],
    ],
  ] as const)(
    "is sent again with the other type after a 400; if both fail, the errors that help are reported: %s",
    async (_of, refusals, words) => {
      let posts = 0;
      const refusing = await serve((request, response) => {
        if (request.method === "GET") return void response.end(envelope([]));
        const [pointer, message] = refusals[posts] ?? [undefined, "asked too often"];
        posts += 1;
        const errors = [{ code: 10001, message, ...(pointer === undefined ? {} : { source: { pointer } }) }];
        response.writeHead(400).end(JSON.stringify({ success: false, errors, messages: [], result: null }));
      });
      const { message } = await new Operation(refusing, OFFLINE).failedUp(TYPE, policy);
      const messages = ["expected a boolean", "expected text", "no directive", "too many rules"];
      expect(messages.filter((each) => message.includes(each))).toEqual(words);
      expect(message.split(words[0])).toHaveLength(2);
      expect(posts).toBe(2);
    },
  );

  test("is sent with only one type if a 400 points at another field", async () => {
    const pointing = await serve((request, response) => {
      if (request.method === "GET") return void response.end(envelope([]));
      const errors = [{ code: 10001, message: "no", source: { pointer: "/value" } }];
      response.writeHead(400).end(JSON.stringify({ success: false, errors, messages: [], result: null }));
    });
    await new Operation(pointing, OFFLINE).failedUp(TYPE, policy);
    expect(pointing.seen.filter((each) => each.startsWith("POST"))).toHaveLength(1);
  });
});

describe("unknown fields of a policy", () => {
  test("are kept in an update, except Cloudflare's timestamps and version", async () => {
    const recorded = await b.up(policy);
    await edit(recorded, {
      scope: { a: [1] },
      updated_at: "then",
      version: 3,
    });
    await b.up({ ...policy, description: "Till" }, recorded);
    const body = b.bodies("PUT").at(-1);
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

  test("can be set with extra, and their drift is reported", async () => {
    const inputs = { ...policy, extra: { scope: { a: 1, b: [2] } } };
    const recorded = await b.up(inputs);
    expect(await one()).toMatchObject({ scope: { a: 1, b: [2] } });
    expect((await b.refresh(recorded)).inputs).toEqual(refreshedInputs(recorded));
    await edit(recorded, { scope: { a: 9 }, other: 1 });
    const refreshed = await b.refresh(recorded);
    expect(refreshed.inputs["extra"]).toEqual({ scope: { a: 9 } });
    await b.up(inputs, refreshed);
    expect(await one()).toMatchObject({ scope: { a: 1, b: [2] }, other: 1 });
  });

  test("are omitted from the next update if they're removed from extra", async () => {
    const recorded = await b.up({ ...policy, extra: { scope: 1, level: 2 } });
    await edit(recorded, { other: 3 });
    const changed = await b.up({ ...policy, extra: { level: 2 } }, recorded);
    expect(b.bodies("PUT").at(-1)).toMatchObject({ level: 2, other: 3 });
    expect(b.bodies("PUT").at(-1)).not.toHaveProperty("scope");
    expect(changed.outputs["extra"]).toEqual({ level: 2 });
  });

  test.each(["id", "description", "action", "expression", "enabled", "value"])(
    "can't include %s, which has its own argument",
    async (name) => {
      expect(await b.refusals({ ...policy, extra: { [name]: "x" } })).toEqual([
        `extra.${name}: has its own argument. Set that argument instead of extra`,
      ]);
    },
  );
});

describe("a PageShieldPolicy in a zone with policies", () => {
  test("adopts a policy without a write if every field matches, with one message that says what a destroy will do", async () => {
    const id = await createElsewhere({ value: "script-src cdn.example.com 'self'", enabled: "true" });
    b.api.clearRequests();
    const op = b.operation();
    const adopted = { object: `policy ${id} in zone ${policy.zoneId}`, onDestroy: "deletes it" };
    expect((await op.preview(TYPE, policy)).inputs["adopted"]).toEqual(adopted);
    const line = `edgeguard: PageShieldPolicy "Checkout" adopts the existing ${adopted.object}, which matches the program. Destroying the resource deletes it.`;
    expect(op.said).toEqual([line]);
    const recorded = await op.up(TYPE, policy);
    expect(recorded).toMatchObject({ id, outputs: { adopted } });
    expect(op.said).toEqual([line]);
    expect(b.sent("POST", "PUT")).toEqual([]);
  });

  test("stays recorded as adopted after refreshes and updates, even without live checks", async () => {
    await createElsewhere();
    const recorded = await b.operation(OFFLINE).up(TYPE, policy);
    const adopted = { object: expect.stringContaining("policy ") as string, onDestroy: "deletes it" };
    expect(recorded.inputs).not.toHaveProperty("adopted");
    expect(recorded.outputs["adopted"]).toEqual(adopted);
    const refreshed = await b.refresh(recorded);
    expect(refreshed.inputs["adopted"]).toEqual(adopted);
    const changed = await b.up({ ...policy, action: "allow" }, refreshed);
    expect(changed).toMatchObject({ inputs: { adopted }, outputs: { adopted } });
  });

  test.each([
    ["description", "Other"],
    ["action", "allow"],
    ["expression", "true"],
    ["enabled", false],
    ["value", "script-src 'none'"],
  ])("leaves a policy alone if it differs in %s", async (key, value) => {
    const id = await createElsewhere({ [key]: value });
    const op = b.operation();
    const recorded = await op.up(TYPE, policy);
    expect(recorded.id).not.toBe(id);
    expect(await stored()).toHaveLength(2);
    expect(op.warned).toEqual(
      key === "description"
        ? []
        : [
            `edgeguard: policy "Checkout": zone ${policy.zoneId} already has a policy with this description, which an interrupted \`pulumi up\` may have created: ${id} "Checkout". ` +
              'Set adopt: "takeOver" to change it instead of creating another one.',
          ],
    );
  });

  test("warns about a policy that an interrupted create may have left, and adopts it with adopt: takeOver", async () => {
    const left = await b.up({ ...policy, value: "script-src 'none'" }); // Not recorded in state.
    expect(await b.warnings(policy)).toEqual([
      expect.stringContaining(`an interrupted \`pulumi up\` may have created: ${left.id} `),
    ]);
    const takeOver = b.operation();
    expect((await takeOver.up(TYPE, { ...policy, adopt: "takeOver" })).id).toBe(left.id);
    expect(takeOver.warned).toEqual([]);
  });

  test("adopts and updates a policy that lacks a field declared in extra", async () => {
    const id = await createElsewhere();
    const recorded = await b.up({ ...policy, extra: { scope: 1 } });
    expect(recorded.id).toBe(id);
    expect(await stored()).toMatchObject([{ id, scope: 1 }]);
  });

  test('with adopt: "never", fails the preview and the update, and names the policy\'s ID', async () => {
    const id = await createElsewhere();
    const inputs = { ...policy, adopt: "never" };
    expect(await b.refusals(inputs)).toEqual([
      expect.stringMatching(`^adopt: zone .* already has a policy .*${id}.* prevents adopting it`),
    ]);
    const offline = b.operation(OFFLINE);
    const { message } = await offline.failedUp(TYPE, inputs);
    expect(message).toContain(id);
    expect(message).toContain('set adopt: "ifEqual"');
    expect(await stored()).toHaveLength(1);
  });

  test('with adopt: "takeOver", adopts and changes a policy with the same description', async () => {
    const id = await createElsewhere({ action: "allow", scope: 7 });
    const op = b.operation();
    const recorded = await op.up(TYPE, { ...policy, adopt: "takeOver" });
    expect(recorded).toMatchObject({
      id,
      outputs: { adopted: { changes: { action: { before: "allow", after: "log" } } } },
    });
    expect(op.said[0]).toContain(
      `adopts the existing policy ${id} in zone ${policy.zoneId} and changes action: "allow" → "log". Destroying the resource deletes it.`,
    );
    expect(await stored()).toEqual([expect.objectContaining({ id, action: "log", scope: 7 })]);
  });

  test.each([["the stack's policy comes first"], ["the stack's policy comes last"]])(
    'with adopt: "takeOver", refuses a policy that another resource of the program declares: %s',
    async (order) => {
      const recorded = await b.up(policy);
      const op = b.operation();
      const own = async () => await op.refusals(TYPE, { ...policy, __resourceName: "own" }, recorded);
      const taking = async () =>
        await op.refusals(TYPE, { ...policy, action: "allow", adopt: "takeOver", __resourceName: "taking" });
      const [first, second] = order.endsWith("first") ? [own, taking] : [taking, own];
      expect(await first()).toEqual([]);
      expect(await second()).toEqual([
        expect.stringMatching(
          / "\w+" and "\w+" have the same description in zone \w+, and one takes over the policy/,
        ),
      ]);
    },
  );

  test('with adopt: "takeOver", leaves a policy alone if another one is equal in all fields', async () => {
    await createElsewhere({ action: "allow" });
    const id = await createElsewhere();
    b.api.clearRequests();
    expect((await b.up({ ...policy, adopt: "takeOver" })).id).toBe(id);
    expect(b.sent("PUT", "POST")).toEqual([]);
  });

  test.each([
    ["ifEqual", {}, "equal to this one"],
    ["takeOver", { action: "allow" }, 'with the description "Checkout"'],
  ])(
    "fails the preview if several policies could be adopted with adopt: %j, and lists all IDs",
    async (adopt, more, likeness) => {
      const ids = [await createElsewhere(more), await createElsewhere(more)];
      const [reason] = await b.refusals({ ...policy, adopt });
      expect(reason).toContain(`zone ${policy.zoneId} has 2 policies`);
      expect(reason).toContain(
        `${likeness}, and only one can be adopted: ${ids.join(", ")}. Delete all but one`,
      );
    },
  );

  test("ignores other policies if it already has its own policy", async () => {
    const recorded = await b.up({ ...policy, adopt: "never" });
    await createElsewhere({ description: "Till" });
    const op = b.operation();
    await op.up(TYPE, { ...policy, description: "Till", adopt: "never" }, recorded);
    expect(await stored()).toHaveLength(2);
  });
});

describe("an interrupted create of a policy", () => {
  const create = async (kind: "dropBefore" | "dropAfter" | "truncated") => {
    b.api.fault({ match: { method: "POST" }, kind });
    const op = b.operation({ ...OFFLINE, inNoTime: b.api });
    return { recorded: await op.up(TYPE, policy), op };
  };

  test.each(["dropAfter", "truncated"] as const)(
    "creates one policy if the response is lost (%s)",
    async (kind) => {
      const { recorded, op } = await create(kind);
      expect((await stored()).map(({ id }) => id)).toEqual([recorded.id]);
      expect(b.bodies("POST")).toHaveLength(1);
      expect(op.said.join()).toContain("was lost, but Cloudflare created it, and this update uses it");
    },
  );

  test("creates one policy if the request was lost", async () => {
    const { recorded } = await create("dropBefore");
    expect((await stored()).map(({ id }) => id)).toEqual([recorded.id]);
    expect(b.bodies("POST")).toHaveLength(2);
  });

  test.each([500, 503])("creates one policy if the API returned %i without creating it", async (status) => {
    b.api.fault({ match: { method: "POST" }, kind: "status", status });
    const recorded = await b.operation({ inNoTime: b.api }).up(TYPE, policy);
    expect((await stored()).map(({ id }) => id)).toEqual([recorded.id]);
  });

  test("creates one policy if the API returned 500 after creating it", async () => {
    const proxy = await through(b.api, (method) => (method === "POST" ? 500 : undefined));
    const recorded = await new Operation(proxy).up(TYPE, policy);
    expect((await stored()).map(({ id }) => id)).toEqual([recorded.id]);
    expect(b.bodies("POST")).toHaveLength(1);
  });

  describe("with a lost response and a lagging list", () => {
    const lagging = async (readLagMs: number) => {
      await b.restart({ readLagMs });
      b.api.fault({ match: { method: "POST" }, kind: "dropAfter" });
      return b.operation({ inNoTime: b.api });
    };
    /** The policies, once the list is up to date. */
    const settled = async () => {
      b.api.advance(60_000);
      return (await stored()).map(({ id }) => id);
    };

    test.each([4_000, 5_000, 8_000])("waits for a list that lags by %i ms", async (readLagMs) => {
      const recorded = await (await lagging(readLagMs)).up(TYPE, policy);
      expect(await settled()).toEqual([recorded.id]);
      expect(b.bodies("POST")).toHaveLength(1);
    });

    test("warns that there may be two policies if the list lags for longer, and doesn't wait for the list", async () => {
      const op = await lagging(12_000);
      const recorded = await op.up(TYPE, policy);
      expect(b.sent().at(-1)).toBe("POST /policies");
      const [first, second] = await settled();
      expect(first).toBeDefined();
      expect(recorded.id).toBe(second);
      expect(op.warned).toEqual([
        `edgeguard: policy "Checkout" was created by a second request, after the response to the first was lost. If Cloudflare applied both, ${PATH} has two: delete the other one.`,
      ]);
    });

    test("finds the policy that the first request created if the second request fails", async () => {
      const op = await lagging(12_000);
      const refuse = () =>
        b.api.fault({ match: { method: "POST" }, kind: "status", status: 403, message: "quota" });
      refuse();
      const recorded = await op.up(TYPE, policy);
      expect(await settled()).toEqual([recorded.id]);
    });
  });

  test("gives up if the API keeps returning 503", async () => {
    const op = b.operation({
      config: { "edgeguard:liveChecks": "false", "edgeguard:maxRetries": "1" },
      inNoTime: b.api,
    });
    b.api.fault({ match: { method: "POST" }, kind: "status", status: 503, times: 50 });
    const failure = await failureOf(op.up(TYPE, policy));
    expect(failure.message).toContain('Creating policy "Checkout" in zone');
    expect(b.bodies("POST")).toHaveLength(2); // The first and one retry, after looking for the policy.
    expect(await stored()).toEqual([]);
  });
});

describe("the output logged", () => {
  const enforced = { action: "allow", expression: "true" };
  const logged = async (more: object, previous?: Recorded): Promise<unknown> =>
    (await b.preview({ ...policy, ...more }, previous)).inputs["logged"];
  const up = (more: object, previous?: Recorded): Promise<Recorded> => b.up({ ...policy, ...more }, previous);

  test("is true if the policy was a log policy first, and stays true while the policy changes", async () => {
    const logging = await up({});
    expect(logging.outputs).not.toHaveProperty("logged");
    const blocking = await up(enforced, logging);
    expect(blocking.outputs["logged"]).toBe(true);
    expect(await logged({ ...enforced, description: "Till" }, blocking)).toBe(true);
    const refreshed = await b.refresh(blocking);
    expect(await logged(enforced, { ...blocking, ...refreshed })).toBe(true);
    const disabled = await up({ ...enforced, enabled: false }, blocking);
    expect(await logged(enforced, disabled)).toBe(true);
  });

  test("is false for a policy that blocked from the start, or was disabled while it only logged", async () => {
    const blocking = await up(enforced);
    expect(blocking.outputs["logged"]).toBe(false);
    expect(await logged({ ...enforced, description: "Till" }, blocking)).toBe(false);
    const silent = await up({ description: "Silent", enabled: false });
    expect(await logged({ ...enforced, description: "Silent" }, silent)).toBe(false);
    const zoneId = zones.blog; // Another zone has other scripts.
    expect(await logged({ ...enforced, zoneId }, await up({ description: "Here" }))).toBe(false);
  });

  test("stays absent if the state lacks it, as after an import or an earlier version", async () => {
    const blocking = await up(enforced);
    const older = {
      ...blocking,
      inputs: omit(blocking.inputs, ["logged"]),
      outputs: omit(blocking.outputs, ["logged"]),
    };
    expect(await logged({ ...enforced, description: "Till" }, older)).toBeUndefined();
  });
});

describe("wouldBlock", () => {
  const shop = () => ({ ...policy, zoneId: zones.shop, action: "allow" });
  const wouldBlock = async (more: object, previous?: Recorded) =>
    blockedIn((await b.preview({ ...shop(), ...more }, previous)).inputs);
  const blockedIn = ({ impact }: Readonly<Record<string, unknown>>): WouldBlock | undefined =>
    (impact as { wouldBlock?: WouldBlock }).wouldBlock;
  const digest = expect.stringMatching(/^[0-9a-f]{32}$/) as string;
  const NONE = { count: 0, malicious: 0, urls: [], digest };
  const NO_INLINE = ["script-src without 'unsafe-inline' (inline scripts) or 'unsafe-eval'"];

  test("counts the scripts on the covered pages by URL, and lists the first five", async () => {
    const everywhere = await wouldBlock({ expression: "true", value: "script-src 'none'" });
    const all = "per_page=100&exclude_duplicates=false&exclude_cdn_cgi=false";
    const { result } = await rawGet(b.api, `/zones/${zones.shop}/page_shield/scripts?${all}`);
    const found = result as {
      url: string;
      host: string;
      js_integrity_score?: number;
      url_reported_malicious?: boolean;
      domain_reported_malicious?: boolean;
    }[];
    const isMalicious = (url: string): boolean =>
      found.some(
        (each) =>
          each.url === url &&
          ((each.js_integrity_score ?? 99) < 10 ||
            each.url_reported_malicious === true ||
            each.domain_reported_malicious === true),
      );
    const scoreOf = (url: string): number | undefined =>
      found.find((each) => each.url === url)?.js_integrity_score;
    const urls = found.map(({ url }) => url).sort();
    const worstFirst = (all: readonly string[]): string[] => {
      const one = [...new Set(all)].sort();
      const rank = (url: string): number => (isMalicious(url) ? 0 : (scoreOf(url) ?? 99) < 50 ? 1 : 2);
      return one.sort((a, b) => rank(a) - rank(b));
    };
    const expected = (all: readonly string[]): object => {
      const sorted = worstFirst(all);
      return {
        count: sorted.length,
        malicious: sorted.filter(isMalicious).length,
        urls: sorted.slice(0, 5).map((url) => url.replace(/=[^&]*/g, "=…")),
        scores: Object.fromEntries(
          sorted.map((url) => [url, scoreOf(url)] as const).filter(([, score]) => (score ?? 99) < 50),
        ),
        digest,
      };
    };
    expect(urls).toContain("https://tags.metrics.example/tag.js?id=M-20417&v=2"); // A duplicate of another script.
    expect(urls).toContain("https://www.shop.example/cdn-cgi/challenge-platform/scripts/jsd/main.js");
    expect(urls.filter(isMalicious)).not.toEqual([]);
    const everything = expected(urls);
    expect(everywhere).toEqual({
      seen: new Set(urls).size,
      scripts: everything,
      newly: everything,
      unreported: NO_INLINE,
    });
    expect(b.api.requests.find(({ path }) => path.endsWith("/scripts"))?.query).toMatchObject({
      exclude_duplicates: "false",
      exclude_cdn_cgi: "false",
      order_by: "first_seen_at",
      direction: "asc",
    });

    const own = 'http.host eq "checkout.shop.example"';
    const there = found.filter(({ host }) => host === "checkout.shop.example");
    const foreign = there
      .map(({ url }) => url)
      .filter((url) => !url.startsWith("https://checkout.shop.example/"));
    for (const expression of [own, `(${own})`]) {
      expect(await wouldBlock({ expression, value: "script-src 'self'" })).toEqual({
        seen: new Set(there.map(({ url }) => url)).size,
        scripts: expected(foreign),
        newly: expected(foreign),
        unreported: NO_INLINE,
      });
    }
  });

  test("counts a URL once, even if several pages load it", async () => {
    const twice = ["a.shop.example", "b.shop.example"].map((host) => ({
      url: "https://cdn.example/x.js",
      host,
    }));
    b.api.detect(zones.shop, { scripts: twice }, "replace");
    expect(await wouldBlock({ expression: "true", value: "script-src 'self'" })).toMatchObject({
      seen: 1,
      scripts: { count: 1, urls: ["https://cdn.example/x.js"] },
    });
  });

  test("hides the username and the values of query parameters, which may be credentials", async () => {
    const url = "https://canary:canary@cdn.example/x.js?key=canary&v#canary";
    b.api.detect(zones.shop, { scripts: [{ url, host: "shop.example" }] }, "replace");
    const op = b.operation();
    const { inputs } = await op.preview(TYPE, { ...shop(), expression: "true", value: "script-src 'self'" });
    expect(blockedIn(inputs)).toMatchObject({
      scripts: { urls: ["https://[secret]@cdn.example/x.js?key=…&…"] },
    });
    expect(JSON.stringify([inputs, op.said, op.warned])).not.toContain("canary");
  });

  test("has a digest of all blocked URLs, not only of the five that are listed", async () => {
    const blocking = async (...names: string[]): Promise<Blocked> => {
      const scripts = names.map((name) => ({ url: `https://cdn.example/${name}.js`, host: "shop.example" }));
      b.api.detect(zones.shop, { scripts }, "replace");
      const blocked = await wouldBlock({ expression: "true", value: "script-src 'self'" });
      if (blocked === undefined) throw new Error("the preview didn't look");
      return blocked.scripts ?? blocked.newly;
    };
    const first = await blocking("a", "b", "c", "d", "e", "f");
    const other = await blocking("a", "b", "c", "d", "e", "g");
    expect(other.urls).toEqual(first.urls);
    expect(other.digest).not.toBe(first.digest);
    expect(await blocking("f", "e", "d", "c", "b", "a")).toEqual(first);
  });

  test("is 0 if everything is allowed, and the preview says how many scripts were seen", async () => {
    const op = b.operation();
    const expression = 'http.host in {"account.shop.example" "checkout.shop.example"}';
    const { inputs } = await op.preview(TYPE, {
      ...shop(),
      expression,
      value: "script-src http://*.example https:",
    });
    expect(blockedIn(inputs)).toMatchObject({ seen: 10, scripts: NONE, newly: NONE });
    expect(op.said).toEqual([
      'edgeguard: policy "Checkout": would block 0 of the 10 active scripts seen on account.shop.example, checkout.shop.example.',
    ]);
  });

  test.each([
    ["action", "log"],
    ["enabled", false],
  ])("is absent if %s is %j, and no scripts are read", async (name, value) => {
    expect(await wouldBlock({ [name]: value })).toBeUndefined();
    expect(b.sent()).toEqual(["GET /policies"]);
  });

  test.each([
    ["checkout.shop.example static.example", "on static.example,"],
    [
      Array.from({ length: 40 }, (_, index) => `shop${index}.example`).join(" "),
      "on shop0.example, shop1.example, shop2.example, shop3.example, shop4.example and 35 more,",
    ],
  ])("comes with a warning about hosts without detections: %s", async (hosts, where) => {
    const op = b.operation();
    const set = hosts.split(" ").map((host) => JSON.stringify(host));
    const expression = `http.host in {${set.join(" ")}}`;
    await op.preview(TYPE, { ...shop(), expression, value: "connect-src 'none'" });
    expect(op.warned).toEqual([
      expect.stringContaining(`policy "Checkout": Page Shield has seen no active scripts ${where}`),
    ]);
    expect(op.warned[0]).toContain("It has seen scripts on account.shop.example, checkout.shop.example, ");
  });

  test("is 0, with a warning, if Page Shield has seen no scripts at all", async () => {
    const op = b.operation();
    const { inputs } = await op.preview(TYPE, { ...policy, action: "allow" });
    expect(blockedIn(inputs)).toMatchObject({ seen: 0, scripts: NONE, newly: NONE });
    expect(op.said).toEqual([]);
    expect(op.warned).toEqual([
      expect.stringContaining("Page Shield has seen no active scripts on any page of zone"),
      expect.stringContaining("nobody knows what"),
    ]);
  });

  const cdn = (name: string, more: object = {}): object => ({
    url: `https://${name}.example/x.js`,
    host: "shop.example",
    ...more,
  });
  const detect = (): void =>
    b.api.detect(
      zones.shop,
      {
        scripts: [
          cdn("old"),
          cdn("new"),
          cdn("bad", { js_integrity_score: 3 }),
          cdn("listed", { url_reported_malicious: true }),
        ],
        connections: [cdn("pay"), cdn("collect", { domain_reported_malicious: true })],
      },
      "replace",
    );
  const everywhere = { expression: "true", value: "script-src 'self' https:" };

  test("tells what's newly blocked from what the enforced policy blocks already, malicious scripts first", async () => {
    detect();
    const strict = { ...everywhere, value: "script-src https://new.example" };
    const recorded = await b.up({ ...shop(), ...strict });
    expect(blockedIn(recorded.outputs)).toMatchObject({
      scripts: {
        count: 3,
        malicious: 2,
        urls: ["bad", "listed", "old"].map((name) => `https://${name}.example/x.js`),
      },
      newly: { count: 3 },
    });
    const stricter = { ...strict, value: "script-src 'self'" };
    expect(await wouldBlock(stricter, recorded)).toMatchObject({
      scripts: { count: 4 },
      newly: { count: 1, malicious: 0, urls: ["https://new.example/x.js"] },
    });
    expect(await wouldBlock({ ...strict, description: "Renamed" }, recorded)).toMatchObject({ newly: NONE });
    expect(await wouldBlock(everywhere, recorded)).toMatchObject({ scripts: NONE, newly: NONE });
  });

  test("counts everything as newly blocked if the policy only logged, or covers more pages than before", async () => {
    detect();
    const value = "script-src 'self'";
    const logging = await b.up({ ...shop(), ...everywhere, value, action: "log" });
    expect(await wouldBlock({ ...everywhere, value }, logging)).toMatchObject({ newly: { count: 4 } });
    const elsewhere = await b.up({
      ...shop(),
      description: "elsewhere",
      value,
      expression: 'http.host eq "other.example"',
    });
    const wider = { description: "elsewhere", expression: "true", value };
    expect(await wouldBlock(wider, elsewhere)).toMatchObject({ newly: { count: 4 } });
  });

  test("calls blocked already only what the enforced policy covers on every page of the host", async () => {
    const on = (host: string): object => ({ url: "https://cdn.example/x.js", host });
    b.api.detect(zones.shop, { scripts: [on("shop.example"), on("account.example")] }, "replace");
    const value = "script-src 'self'";
    const pay = 'http.request.uri.path eq "/pay"';
    const recorded = await b.up({ ...shop(), value, expression: `http.host eq "shop.example" or ${pay}` });
    const wider = `http.host in {"shop.example" "account.example"} or ${pay}`;
    expect(await wouldBlock({ value, expression: wider }, recorded)).toMatchObject({ newly: { count: 1 } });
    const more = `http.host eq "shop.example" or ${pay} or cf.zone.name eq "b.example" and ssl and ${pay}`;
    expect(await wouldBlock({ value, expression: more }, recorded)).toMatchObject({ newly: NONE });
  });

  test("compares connections as it does scripts, and reads them only for a policy that restricts them", async () => {
    detect();
    const recorded = await b.up({ ...shop(), ...everywhere });
    expect(recorded.outputs["impact"]).not.toHaveProperty("wouldBlock.connections");
    expect(b.sent().filter((each) => each.includes("connections"))).toEqual([]);
    const op = b.operation();
    const { inputs } = await op.preview(
      TYPE,
      { ...shop(), ...everywhere, value: `${everywhere.value}; connect-src 'none'` },
      recorded,
    );
    const both = {
      count: 2,
      malicious: 1,
      urls: ["https://collect.example/x.js", "https://pay.example/x.js"],
    };
    expect(blockedIn(inputs)).toMatchObject({ scripts: NONE, connections: both, newly: both });
    expect(op.said.join()).toContain(
      "would block 2 connections: https://collect.example/x.js, https://pay.example/x.js.",
    );
  });

  test.each([
    [
      "default-src 'self'",
      "default-src without 'unsafe-inline' (inline scripts) or 'unsafe-eval', style-src, worker-src, frame-src, img-src, font-src, object-src, media-src and manifest-src",
    ],
    [
      "script-src 'self'; style-src 'self'; form-action 'none'",
      "script-src without 'unsafe-inline' (inline scripts) or 'unsafe-eval', style-src and form-action",
    ],
    [
      "script-src 'self' 'unsafe-inline' 'unsafe-eval'; connect-src 'self'; upgrade-insecure-requests",
      undefined,
    ],
  ])("warns that nobody knows what %j blocks of what Page Shield doesn't report", async (value, named) => {
    const warningsOf = async (previous?: Recorded): Promise<string[]> => {
      const op = b.operation();
      await op.preview(TYPE, { ...shop(), expression: "true", value }, previous);
      return op.warned.filter((warning) => warning.includes("nobody knows"));
    };
    const warned =
      named === undefined ? [] : [expect.stringContaining(`nobody knows what ${named} would block`)];
    expect(await warningsOf()).toEqual(warned);
    const logging = await b.up({
      ...shop(),
      expression: "true",
      value,
      action: "log",
    });
    expect(await warningsOf(logging)).toEqual([]);
  });

  test("keeps the scripts if the connections can't be read, and the rest counts as not seen", async () => {
    detect();
    b.api.fault({ match: { path: "/connections" }, kind: "status", status: 403, times: 9 });
    const value = "script-src 'self'; connect-src 'none'";
    const { inputs } = await new Operation(b.api).preview(TYPE, { ...shop(), ...everywhere, value });
    expect(blockedIn(inputs)).toMatchObject({ scripts: { count: 4 }, newly: { count: 4 } });
    expect(blockedIn(inputs)).not.toHaveProperty("connections");
    expect(inputs["impact"]).toMatchObject({ seen: ["existingPolicy"] });
  });

  test("counts connections without recorded paths as the source's host", async () => {
    b.api.detect(
      zones.shop,
      { scripts: [cdn("a")], connections: [{ url: "https://pay.example/", host: "shop.example" }] },
      "replace",
    );
    const value = "script-src https:; connect-src https://pay.example/v1/";
    expect(await wouldBlock({ ...everywhere, value })).toMatchObject({ connections: NONE });
  });

  test("counts a URL that's a script and a connection twice, and says nothing of it as blocked already", async () => {
    b.api.detect(zones.shop, { scripts: [cdn("a")], connections: [cdn("a")] }, "replace");
    const op = new Operation(b.api);
    const { inputs } = await op.preview(TYPE, { ...shop(), ...everywhere, value: "default-src 'none'" });
    expect(blockedIn(inputs)).toMatchObject({ newly: { count: 2 } });
    expect(op.said.join()).not.toContain("blocked already");
  });

  test("calls nothing newly blocked if it adopts a policy that's enforced already", async () => {
    detect();
    const args = { ...shop(), ...everywhere, value: "default-src 'self'" };
    const recorded = await b.up(args);
    expect(blockedIn(recorded.outputs)).toMatchObject({ newly: { count: 6 } });
    const { inputs } = await new Operation(b.api).preview(TYPE, args);
    expect(blockedIn(inputs)).toMatchObject({ scripts: { count: 4 }, newly: NONE, unreported: [] });
  });

  test("compares with a policy that someone stored with an invalid value as with none", async () => {
    detect();
    const recorded = await b.up({ ...shop(), ...everywhere, value: "script-src 'self'" });
    const path = `/zones/${zones.shop}/page_shield/policies`;
    const { result } = await rawGet(b.api, path);
    const stored = (result as object[]).map((each) => ({ ...each, value: "nonsense-src 'self'" }));
    answerWith(b.api, { method: "GET", path: "/page_shield/policies" }, stored);
    const declared = { ...everywhere, value: "script-src 'self'", description: "new" };
    expect(await wouldBlock(declared, recorded)).toMatchObject({ newly: { count: 4 } });
  });

  test.each([
    ["style-src 'self'; style-src-attr 'unsafe-inline'", "style-src 'self'", ["style-src-attr"]],
    ["script-src 'self'", "script-src 'self'; script-src-attr 'none'", ["script-src-attr"]],
    [
      "script-src 'self'; script-src-elem 'self'",
      "script-src 'none'; script-src-elem 'self'",
      ["worker-src"],
    ],
    ["script-src 'self'", "script-src 'none'", []],
    ["img-src 'self'", "img-src 'self' https://cdn.example", []],
    [
      "script-src 'self' 'unsafe-inline' data:",
      "script-src 'self'",
      ["script-src without 'unsafe-inline' (inline scripts) or data:"],
    ],
    [
      "script-src 'self' 'unsafe-eval' 'sha256-abc='",
      "script-src 'self' 'wasm-unsafe-eval'",
      ["script-src without 'unsafe-eval' or 'sha256-abc='"],
    ],
    [
      "script-src 'unsafe-inline'",
      "script-src 'unsafe-inline' 'sha256-abc='",
      [
        "script-src without 'unsafe-inline' (inline scripts), which a nonce, a hash or 'strict-dynamic' turns off,",
      ],
    ],
    ["script-src 'sha256-abc=' data:", "script-src 'unsafe-inline' data: blob: 'unsafe-eval'", []],
    [
      "default-src 'unsafe-inline' 'unsafe-eval'",
      "default-src 'unsafe-inline' 'unsafe-eval'; script-src-elem 'unsafe-inline'",
      [],
    ],
    ["connect-src https: blob:", "connect-src https:", ["connect-src without blob:"]],
    [
      "connect-src https://a.example https://b.example",
      "connect-src https://a.example/v1/",
      ["connect-src without https://a.example"],
    ],
    [
      "img-src 'self'",
      "img-src 'self'; connect-src 'self' https://a.example/v1/ https://b.example",
      ["connect-src without https://a.example"],
    ],
    [
      "style-src 'self'",
      "style-src 'self'; script-src 'unsafe-inline'",
      ["script-src without 'unsafe-eval'"],
    ],
  ])("names what changes from %j to %j and Page Shield doesn't report", async (before, after, unreported) => {
    const recorded = await b.up({ ...shop(), ...everywhere, value: before });
    expect(await wouldBlock({ ...everywhere, value: after }, recorded)).toMatchObject({ unreported });
  });

  test("names no hosts of a secret expression, and no sources of a secret value", async () => {
    const op = b.operation();
    const [expression, value] = [
      'http.host in {"launch.shop.example"}',
      "frame-ancestors https://launch.example",
    ];
    await op.preview(TYPE, { ...shop(), expression, value, [HIDDEN.secrets]: ["expression", "value"] });
    expect([...op.said, ...op.warned].join()).not.toContain("launch");
    await op.preview(TYPE, { ...shop(), expression, value });
    expect([...op.said, ...op.warned].join()).toMatch(
      /launch\.shop\.example.*launch\.example|launch\.example.*launch\.shop/s,
    );
  });

  test("is absent, with a warning, for a policy with 'strict-dynamic'", async () => {
    const op = b.operation();
    const value = `script-src 'strict-dynamic' 'sha256-${"a".repeat(43)}='`;
    const { inputs } = await op.preview(TYPE, { ...shop(), expression: "true", value });
    expect(blockedIn(inputs)).not.toHaveProperty("scripts");
    expect(inputs["impact"]).toMatchObject({ seen: ["existingPolicy"] });
    expect(op.warned).toEqual([
      expect.stringContaining("only a browser can tell which scripts the policy would block"),
      expect.stringContaining("nobody knows what script-src without"),
    ]);
  });

  test("is recorded, and computed again only if the policy changes", async () => {
    const inputs = { ...shop(), expression: "true", value: "script-src 'self'" };
    const recorded = await b.up(inputs);
    const before = blockedIn(recorded.outputs);
    const count = before?.scripts?.count ?? 0;
    expect(count).toBeGreaterThan(0);
    expect(blockedIn(recorded.inputs)).toEqual(before);
    b.api.detect(zones.shop, { scripts: [{ url: "https://new.example/x.js" }] });
    b.api.clearRequests();
    expect(await b.up(inputs, recorded)).toEqual({
      ...recorded,
      inputs: refreshedInputs(recorded),
    });
    expect(b.sent()).toEqual([]);
    const refreshed = await b.refresh(recorded);
    expect(refreshed.inputs).not.toHaveProperty("impact");
    expect(refreshed.outputs["impact"]).toEqual(recorded.outputs["impact"]);
    expect(await b.step(inputs, refreshed)).toBe("same");
    expect(await wouldBlock({ ...inputs, description: "Till" }, recorded)).toMatchObject({
      scripts: { count: count + 1 },
      newly: NONE,
    });
  });

  test("doesn't cause an update if it alone differs", async () => {
    const inputs = { ...shop(), expression: "true", value: "script-src 'self'" };
    const recorded = await b.up(inputs);
    for (const impact of [undefined, { operation: "check", revision: 9, seen: [] }]) {
      const other = { ...recorded, outputs: { ...recorded.outputs, impact } };
      expect(await b.step(inputs, other)).toBe("same");
    }
  });

  test("can't be set by a program", async () => {
    const impact = {
      operation: "check",
      revision: 7,
      seen: ["wouldBlock"],
      wouldBlock: { seen: 7 },
    };
    const own = await b.operation().check(TYPE, policy);
    expect(await b.operation().check(TYPE, { ...policy, impact })).toEqual(own);
    expect(own.inputs["impact"]).toEqual({ operation: "check", revision: 1, seen: ["existingPolicy"] });
  });
});

describe("the preview of a second enforced allow policy", () => {
  const enforced = { ...policy, action: "allow", value: "connect-src 'self'" };

  beforeEach(() => {
    const script = { url: "https://cdn.example.com/a.js", host: "www.empty.example" };
    b.api.detect(zones.empty, { scripts: [script] });
  });

  test("says nothing if no page gets both, by their hosts", async () => {
    const on = (host: string) => ({ expression: `http.host eq "${host}" and not ssl` });
    await createElsewhere({ action: "allow", description: "First", ...on("www.empty.example") });
    const operation = b.operation();
    await operation.preview(TYPE, { ...enforced, ...on("shop.empty.example") });
    await operation.preview(TYPE, { ...enforced, description: "Third", ...on("blog.empty.example") });
    expect(operation.warned.filter((line) => /enforce/.test(line))).toEqual([]);
  });

  test.each([
    ["true", 'http.host eq "www.empty.example"', true],
    ['http.host eq "www.empty.example"', "true", true],
    ['http.host in {"a.example" "b.example"}', 'http.host eq "b.example"', true],
    ['http.host eq "a.example"', 'http.host eq "b.example"', false],
  ])("in the same program, for %s and for %s, warns if a page may get both", async (one, other, warns) => {
    const operation = b.operation();
    for (const [name, expression] of [["one", one] as const, ["other", other] as const])
      await operation.check(TYPE, { ...enforced, description: name, expression, [HIDDEN.name]: name });
    const warnings = operation.warned.filter((line) => line.includes("are both enforced allow policies"));
    expect(warnings).toHaveLength(warns ? 1 : 0);
  });

  test("warns, with the ID of the first policy", async () => {
    const id = await createElsewhere({ action: "allow", description: "First" });
    expect(await b.warnings({ ...enforced })).toEqual([
      `edgeguard: policy "Checkout": zone ${policy.zoneId} already enforces another allow policy: ${id} "First". ` +
        "Browsers apply every policy on a page, so visitors get only the scripts that all of them allow.",
    ]);
  });

  test("names a policy with the same description, and says how to change that policy instead", async () => {
    const other = await createElsewhere({ action: "allow", description: "First" });
    const alike = await createElsewhere({ action: "allow", value: "script-src 'none'" });
    for (const liveChecks of ["true", "false"]) {
      const op = b.operation({ config: { "edgeguard:liveChecks": liveChecks } });
      await op.up(TYPE, { ...enforced, description: "Checkout" });
      expect(op.warned).toEqual([
        `edgeguard: policy "Checkout": zone ${policy.zoneId} already enforces 2 allow policies: ${other} "First", ${alike} "Checkout". ` +
          "Browsers apply every policy on a page, so visitors get only the scripts that all of them allow. " +
          `zone ${policy.zoneId} already has a policy with this description, which an interrupted \`pulumi up\` may have created: ${alike} "Checkout". Set adopt: "takeOver" to change it instead of creating another one.`,
      ]);
      const [, , second] = await stored();
      await rawSend(b.api, "DELETE", `${PATH}/${String(second?.["id"])}`);
    }
    expect(await b.warnings({ ...enforced, adopt: "takeOver" })).toEqual([
      expect.stringContaining(`another allow policy: ${other} "First".`),
    ]);
  });

  test("warns about a policy with the same description when the resource's own value changes", async () => {
    const recorded = await b.up({ ...enforced });
    const twin = await createElsewhere({ action: "allow", value: "script-src 'none'" });
    expect(await b.warnings({ ...enforced, value: "connect-src https://*.example" }, recorded)).toEqual([
      expect.stringContaining(`another allow policy: ${twin} "Checkout".`),
    ]);
  });

  test.each([
    ["the other one is disabled", { enabled: false }, {}],
    ["the other one only logs", { action: "log" }, {}],
    ["this one is disabled", {}, { enabled: false }],
    ["this one only logs", {}, { action: "log" }],
  ])("doesn't warn if %s", async (_why, other, own) => {
    await createElsewhere({ action: "allow", description: "First", ...other });
    expect(await b.warnings({ ...enforced, ...own })).toEqual([]);
  });

  test("never warns about the changed policy itself", async () => {
    const recorded = await b.up({ ...enforced });
    const op = b.operation();
    await op.up(TYPE, { ...enforced, description: "Till" }, recorded);
    expect(op.warned).toEqual([]);
  });
});

describe("a PageShieldPolicy after a manual change", () => {
  test.each([
    ["description", "Else", "Else"],
    ["action", "allow", "allow"],
    ["expression", "true", "true"],
    ["enabled", false, false],
    ["value", "script-src 'none'", "script-src 'none'"],
  ])("shows and corrects drift in %s", async (key, value, shown) => {
    const recorded = await b.up(policy);
    await edit(recorded, { [key]: value });
    const refreshed = await b.refresh(recorded);
    expect(refreshed.inputs).toEqual({ ...refreshedInputs(recorded), [key]: shown });
    expect(driftOf(TYPE, recorded, refreshed)?.changes.map(({ property }) => property)).toEqual([key]);
    await b.up(policy, refreshed);
    const fields = omit(policy, ["zoneId"]);
    expect(await one()).toEqual({ ...fields, enabled: true, id: recorded.id });
  });

  /** Values that no program can declare, but the dashboard or a later API may store. */
  test.each([
    ["action", "block_everything", "block_everything"],
    ["value", "script-src self", "script-src self"],
    ["value", "", ""],
    ["description", null, ""],
    ["expression", "", ""],
  ])("shows drift of %s to %j, corrects it, and can destroy the policy", async (key, value, shown) => {
    const recorded = await b.up(policy);
    const { result } = await rawGet(b.api, `${PATH}/${recorded.id}`);
    const drifted = () => answerWith(b.api, { method: "GET" }, { ...(result as object), [key]: value });
    drifted();
    const refreshed = await b.refresh(recorded);
    expect(refreshed.inputs).toEqual({ ...refreshedInputs(recorded), [key]: shown });
    expect(driftOf(TYPE, recorded, refreshed)?.changes).toMatchObject([{ property: key }]);
    drifted();
    expect((await b.refresh(refreshed)).inputs).toEqual(refreshedInputs(refreshed));
    drifted();
    const corrected = await b.operation(OFFLINE).up(TYPE, policy, refreshed);
    expect(omit(corrected.outputs, ["impact"])).toEqual(omit(recorded.outputs, ["impact"]));
    expect(b.bodies("PUT")).toHaveLength(1);
    await b.destroy(refreshed);
    expect(await stored()).toEqual([]);
  });
});

describe("when Cloudflare rejects a request, or may reject it,", () => {
  test("a create reports an entitlement error, with advice", async () => {
    const op = b.operation(OFFLINE);
    const { message, recorded } = await op.failedUp(TYPE, { ...policy, zoneId: zones.free });
    expect(message).toContain(
      "exceeded the maximum number of rules in the phase http_response_page_shield: 1 out of 0 [code 10011]",
    );
    expect(message).toContain("make sure your plan includes Page Shield policies");
    expect(recorded).toBeUndefined();
    expect(b.bodies("POST").map(({ enabled }) => enabled)).toEqual(["true", true]); // The 400 has no pointer.
  });

  test("the preview only warns if it can't compute wouldBlock", async () => {
    b.api.fault({ match: { path: "/scripts" }, kind: "status", status: 403, code: 10000 });
    const op = b.operation();
    expect(await op.preview(TYPE, { ...policy, action: "allow" })).toMatchObject({ step: "create" });
    expect(op.warned).toEqual([
      expect.stringMatching(
        /^edgeguard: live check skipped: Listing the scripts in zone .* needs Page Shield Read /,
      ),
    ]);
  });

  test("the preview warns about the action add_reporting_directives", async () => {
    expect(await b.warnings({ ...policy, action: "add_reporting_directives" })).toEqual([
      expect.stringContaining("Cloudflare may reject the action add_reporting_directives"),
    ]);
  });
});
