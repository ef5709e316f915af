import * as pulumi from "@pulumi/pulumi";
import { apiPerFile } from "../support/bench";
import {
  getKvKeys,
  getKvMetadata,
  getKvMetadataOutput,
  getKvNamespaceByTitle,
  getKvNamespaceByTitleOutput,
  getKvNamespaces,
  getKvValue,
  getKvValueOutput,
  type LookupOptions,
} from "pulumi-edgeguard";
import { rawSend } from "../support/operation";

describe.each(["documented", "openapi"] as const)("a Workers KV lookup (%s dialect)", (dialect) => {
  const api = apiPerFile({ dialect });
  const account = api.accounts.main;
  const existing = api.namespaces.existing;
  const namespaces = `/accounts/${account}/storage/kv/namespaces`;
  let opts: LookupOptions;
  beforeEach(() => {
    opts = { config: { baseUrl: api.url, apiToken: "local-token", accountId: account } };
    api.reset();
    api.clearRequests();
  });

  /** The output's value, and whether it's secret. */
  async function outcome<T>(output: pulumi.Output<T>): Promise<{ value: T; secret: boolean }> {
    const value = await new Promise<T>((done, fail) => {
      output.apply(done);
      // Only its promise tells why an output failed.
      (output as unknown as { promise(): Promise<T> }).promise().catch(fail);
    });
    return { value, secret: await pulumi.isSecret(output) };
  }

  async function make(title: string): Promise<string> {
    const { result } = await rawSend(api, "POST", namespaces, { title });
    return (result as { id: string }).id;
  }

  test("lists the namespaces of the given account, or of the account in the settings", async () => {
    const encoding = dialect === "documented" ? {} : { supportsUrlEncoding: true };
    const all = [{ id: existing, title: "existing", ...encoding }];
    expect(await getKvNamespaces({}, opts)).toEqual(all);
    const { accountId, ...config } = opts.config ?? {};
    expect(await getKvNamespaces({ accountId: (accountId ?? "").toUpperCase() }, { config })).toEqual(all);
    expect(api.requests.map(({ path }) => path)).toEqual([namespaces, namespaces]);
  });

  test("lists several pages of namespaces, each namespace once", async () => {
    const titles = Array.from({ length: 120 }, (_, i) => `many ${i}`);
    await Promise.all(titles.map(make));
    api.clearRequests();
    const found = await getKvNamespaces({}, opts);
    expect(found.map(({ title }) => title).sort()).toEqual([...titles, "existing"].sort());
    expect(api.requests).toHaveLength(2);
  });

  test("finds a namespace and its preview namespace by title", async () => {
    const plain = await make("shop");
    const preview = await make("shop_preview");
    expect(await getKvNamespaceByTitle({ title: "shop" }, opts)).toMatchObject({ id: plain });
    expect(await getKvNamespaceByTitle({ title: "shop", preview: true }, opts)).toMatchObject({
      id: preview,
      title: "shop_preview",
    });
    const { value, secret } = await outcome(
      getKvNamespaceByTitleOutput({ title: pulumi.output("shop") }, opts),
    );
    expect({ id: value.id, secret }).toEqual({ id: plain, secret: false });
  });

  test("fails if no namespace has the title, and suggests a similar title", async () => {
    await expect(getKvNamespaceByTitle({ title: "exsting" }, opts)).rejects.toThrow(
      `getKvNamespaceByTitle: account ${account} has no namespace "exsting". Did you mean "existing"?`,
    );
    await expect(getKvNamespaceByTitle({ title: "other", preview: true }, opts)).rejects.toThrow(
      /has no namespace "other_preview"\. List the account's namespaces with `edgeguard kv namespace list`\.$/,
    );
  });

  test("lists keys with expirations and metadata, all or by prefix", async () => {
    const keys = await getKvKeys({ namespaceId: existing }, opts);
    expect(keys).toEqual([
      { name: "config/checkout", metadata: { owner: "shop", revision: 3 } },
      { name: "feature:new-cart", expiration: 4_102_444_800 },
      { name: "greeting" },
      { name: "logo.ico" },
      { name: "straße/münchen" },
    ]);
    expect(await getKvKeys({ namespaceId: existing, prefix: "straße/" }, opts)).toEqual([keys[4]]);
    expect(await getKvKeys({ namespaceId: existing, prefix: "none" }, opts)).toEqual([]);
    expect(await getKvKeys({ namespaceId: existing, prefix: "" }, opts)).toEqual(keys);
    expect(api.requests.map(({ query }) => query["prefix"])).toEqual([
      undefined,
      "straße/",
      "none",
      undefined,
    ]);
  });

  test("lists several pages of keys", async () => {
    const entries = Array.from({ length: 1_200 }, (_, i) => ({ key: `many/${i}`, value: "v" }));
    await rawSend(api, "PUT", `${namespaces}/${existing}/bulk`, entries);
    api.clearRequests();
    const found = await getKvKeys({ namespaceId: existing, prefix: "many/" }, opts);
    expect(new Set(found.map(({ name }) => name))).toEqual(new Set(entries.map(({ key }) => key)));
    expect(api.requests).toHaveLength(2);
  });

  test("reads values as text, whatever characters the key has", async () => {
    expect(await getKvValue({ namespaceId: existing, key: "straße/münchen" }, opts)).toBe("Grüß Gott");
    const odd = "a/../b?c=1#d%2F&e+f";
    await rawSend(api, "PUT", `${namespaces}/${existing}/bulk`, [{ key: odd, value: "odd", metadata: [1] }]);
    expect(await getKvValue({ namespaceId: existing, key: odd, as: "text" }, opts)).toBe("odd");
    expect(await getKvMetadata({ namespaceId: existing, key: odd }, opts)).toEqual([1]);
  });

  test("reads values as bytes, and points to that option if a value isn't text", async () => {
    const logo = { namespaceId: existing, key: "logo.ico" } as const;
    const stored = Buffer.from("AAABAAEAEBAAAAEAIABoBAAA//4=", "base64");
    expect(await getKvValue({ ...logo, as: "bytes" }, opts)).toEqual(stored);
    expect(await getKvValue({ namespaceId: existing, key: "greeting", as: "bytes" }, opts)).toEqual(
      Buffer.from("Hello"),
    );
    await expect(getKvValue(logo, opts)).rejects.toThrow(
      `getKvValue: the value of key "logo.ico" in namespace ${existing} (${stored.length} bytes) is not UTF-8 text. Read it with as: "bytes".`,
    );
  });

  test("returns secret outputs for values", async () => {
    const key = pulumi.output("greeting");
    const text = await outcome(getKvValueOutput({ namespaceId: existing, key }, opts));
    expect(text).toEqual({ value: "Hello", secret: true });
    const bytes = getKvValueOutput({ namespaceId: existing, key, as: "bytes" }, opts);
    expect(await outcome(bytes)).toEqual({ value: Buffer.from("Hello"), secret: true });
    expect(await outcome(bytes.apply((value) => Buffer.from(value).toString("base64")))).toEqual({
      value: "SGVsbG8=",
      secret: true,
    });
  });

  test("reads metadata, and returns undefined if a key has none", async () => {
    const at = (key: string) => ({ namespaceId: existing, key });
    expect(await getKvMetadata(at("config/checkout"), opts)).toEqual({ owner: "shop", revision: 3 });
    expect(await getKvMetadata(at("greeting"), opts)).toBeUndefined();
    expect(await outcome(getKvMetadataOutput(at("config/checkout"), opts))).toEqual({
      value: { owner: "shop", revision: 3 },
      secret: false,
    });
  });

  test("fails if a key or its namespace doesn't exist", async () => {
    const missing = { namespaceId: existing, key: "missing" };
    for (const asked of [getKvValue(missing, opts), getKvMetadata(missing, opts)]) {
      await expect(asked).rejects.toMatchObject({
        name: "ApiError",
        status: 404,
        message: expect.stringMatching(
          new RegExp(`^Reading the \\w+ of key "missing" in namespace ${existing} failed: `),
        ) as string,
      });
    }
    await expect(getKvKeys({ namespaceId: "0".repeat(32) }, opts)).rejects.toMatchObject({ status: 404 });
  });

  test.each([
    [
      "an invalid namespace ID",
      () => getKvKeys({ namespaceId: "abc" }, opts),
      /^getKvKeys: namespaceId: "abc" is not a namespace ID \(32 hex digits\): it has 3 characters/,
    ],
    [
      "an invalid account ID",
      () => getKvNamespaces({ accountId: "main" }, opts),
      /^getKvNamespaces: accountId: .* is not an account ID \(32 hex digits\)/,
    ],
    [
      "a missing account ID",
      () => getKvNamespaces({}, { config: { baseUrl: api.url, apiToken: "t" } }),
      /^getKvNamespaces: accountId: is required\. .*"pulumi config set edgeguard:accountId <id>"/,
    ],
    ["an empty title", () => getKvNamespaceByTitle({ title: "" }, opts), /title: must not be empty\.$/],
    [
      "an empty key",
      () => getKvValue({ namespaceId: existing, key: "" }, opts),
      /^getKvValue: key: is empty; use 1 to 512 bytes\.$/,
    ],
    [
      "a key with whitespace",
      () => getKvMetadata({ namespaceId: existing, key: "a b" }, opts),
      /key: contains U\+0020 at position 2/,
    ],
    [
      "a key that can't be in a path",
      () => getKvValue({ namespaceId: existing, key: ".." }, opts),
      /key: is "\.\.", which Cloudflare refuses/,
    ],
    [
      "a key that is too long",
      () => getKvValue({ namespaceId: existing, key: "é".repeat(257) }, opts),
      /key: is 514 bytes; the limit is 512/,
    ],
    [
      "a prefix that is too long",
      () => getKvKeys({ namespaceId: existing, prefix: "p".repeat(513) }, opts),
      /prefix: is 513 bytes, but keys have at most 512/,
    ],
    [
      "an unknown form of value",
      () => getKvValue({ namespaceId: existing, key: "k", as: "json" as "text" }, opts),
      /as: must be "text" or "bytes", not "json"/,
    ],
    [
      "a misspelled argument",
      () => getKvKeys({ namespaceId: existing, prefx: "a" } as never, opts),
      /unknown argument "prefx"\. Did you mean "prefix"\?/,
    ],
  ])("refuses %s before anything is sent", async (_what, lookup, sentence) => {
    await expect(lookup()).rejects.toMatchObject({
      name: "LookupError",
      message: expect.stringMatching(sentence) as string,
    });
    expect(api.requests).toEqual([]);
  });
});
