import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Desk, ended } from "./support";
import { isWrite } from "../support/is-write";

/** The commands of `wrangler kv`, some of them as processes, checked with plain requests to the API. https://developers.cloudflare.com/kv/reference/kv-commands/ */
let desk: Desk;
beforeAll(async () => {
  desk = await Desk.set();
});
beforeEach(() => desk.api.clearRequests());

const writes = (): string[] =>
  desk.api.requests.filter(isWrite).map(({ method, path }) => `${method} ${path}`);

test("namespace create prints the binding, and list, rename and delete find the namespace", async () => {
  desk.write("staging.toml", `account_id = "${desk.api.accounts.main}"\n[env.staging]\n`);
  const made = await desk.bin(
    ...["kv", "namespace", "create", "my catalog", "--env", "staging", "--preview"],
    ...["--config", "staging.toml"],
  );
  expect(made).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('"staging-my catalog_preview"') as string,
  });
  const id = /"([0-9a-f]{32})"/.exec(made.stdout)?.[1] ?? "";
  expect(made.stdout).toBe(`\n[[env.staging.kv_namespaces]]\nbinding = "my_catalog"\npreview_id = "${id}"\n`);
  expect(await desk.raw("GET", `/${id}`)).toMatchObject({ title: "staging-my catalog_preview" });

  const listed = await desk.here("kv", "namespace", "list");
  expect(listed).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(listed.stdout)).toEqual([
    { id: desk.api.namespaces.existing, title: "existing" },
    { id, title: "staging-my catalog_preview" },
  ]);

  expect(
    await desk.here("kv", "namespace", "rename", "--namespace-id", id, "--new-name", "catalog"),
  ).toMatchObject({
    code: 0,
    stdout: "",
  });
  expect(await desk.raw("GET", `/${id}`)).toMatchObject({ title: "catalog" });
  expect(await desk.here("kv", "namespace", "rename", "catalog", "--new-name", "goods")).toMatchObject({
    code: 0,
  });
  expect(await desk.raw("GET", `/${id}`)).toMatchObject({ title: "goods" });

  expect(await desk.here("kv", "namespace", "delete", `--namespace-id=${id}`, "--yes")).toMatchObject({
    code: 0,
    stdout: "",
  });
  expect(await desk.raw("GET", "")).toEqual([expect.objectContaining({ title: "existing" })]);
});

test("every command finds a namespace by its title, and suggests a similar one", async () => {
  const { id } = (await desk.raw("POST", "", { title: "goods_preview", jurisdiction: "eu" })) as {
    id: string;
  };
  const goods = ["--title", "goods", "--preview"];
  expect(await desk.here("kv", "key", "put", "kettle", "on", ...goods)).toMatchObject({ code: 0 });
  expect(await desk.here("kv", "key", "get", "kettle", ...goods)).toMatchObject({ code: 0, stdout: "on" });
  desk.write("more.json", JSON.stringify([{ key: "pot", value: "off" }]));
  const bulk = await desk.here("kv", "bulk", "put", "more.json", "--title", "goods_preview");
  expect(bulk.stderr).toContain(`wrote 1 entry to namespace ${id} ("goods_preview")`);
  const listed = await desk.here("kv", "namespace", "list");
  expect(JSON.parse(listed.stdout)).toContainEqual({ id, title: "goods_preview", jurisdiction: "eu" });
  expect(await desk.here("kv", "key", "list", "--title", "good_preview")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining(
      'has no namespace "good_preview". Did you mean "goods_preview"?',
    ) as string,
  });
  expect(await desk.here("kv", "namespace", "delete", ...goods, "--yes")).toMatchObject({ code: 0 });
  expect(await desk.raw("GET", "")).not.toContainEqual(expect.objectContaining({ id }));
});

test("namespace list prints all namespaces of the account", async () => {
  const titles = Array.from({ length: 7 }, (_, i) => `listed ${i}`);
  for (const title of titles) await desk.raw("POST", "", { title });
  const { stdout } = await desk.here("kv", "namespace", "list");
  const listed = JSON.parse(stdout) as { id: string; title: string }[];
  expect(listed.map(({ title }) => title)).toEqual(expect.arrayContaining(titles));
  for (const { id, title } of listed) if (titles.includes(title)) await desk.raw("DELETE", `/${id}`);
});

describe("key put", () => {
  test("writes a value with TTL and metadata without printing them", async () => {
    const ran = await desk.here(
      ...["kv", "key", "put", "greeting/new", "s3cret value", "--binding=EXISTING"],
      ...["--ttl", "60", "--expiration", "4102444800", "--metadata", '{"owner":"shop"}'],
    );
    expect(ran).toMatchObject({ code: 0, stdout: "" });
    expect(ran.stderr).toMatch(
      /wrote key "greeting\/new" \(12 bytes\) to namespace .* \(binding EXISTING\); it expires in 60 seconds/,
    );
    expect(ran.stderr).not.toContain("s3cret");
    expect(String(await desk.value("greeting/new"))).toBe("s3cret value");
    const [key] = (await desk.keys()).filter(({ name }) => name === "greeting/new");
    expect(key?.["metadata"]).toEqual({ owner: "shop" });
    expect(Number(key?.["expiration"])).toBeLessThan(Date.now() / 1000 + 61);
    expect(writes()).toEqual([`PUT ${desk.namespaces}/${desk.api.namespaces.existing}/bulk`]);
  });

  test("writes a file's bytes, and key get returns the same bytes", async () => {
    const bytes = Buffer.concat([randomBytes(70_000), Buffer.from([0xff, 0x0a, 0x00, 0x0d, 0x0a])]);
    desk.write("picture", bytes);
    expect(
      await desk.bin("kv", "key", "put", "picture", "--path=picture", "--binding", "EXISTING"),
    ).toMatchObject({
      code: 0,
    });
    expect((await desk.value("picture"))?.equals(bytes)).toBe(true);

    const got = await desk.bin("kv", "key", "get", "picture", "--binding", "EXISTING");
    expect(got).toMatchObject({ code: 0, stderr: "" });
    expect(got.bytes.equals(bytes)).toBe(true);

    const asText = await desk.bin("kv", "key", "get", "picture", "--text", "--binding", "EXISTING");
    expect(asText).toMatchObject({ code: 1, stdout: "" });
    expect(asText.stderr).toMatch(/\(70,005 bytes\) is not UTF-8 text\./);
  });

  test("accepts an expiration and an empty value", async () => {
    const options = ["--expiration", "4102444800", "--namespace-id", desk.api.namespaces.existing];
    expect(await desk.here("kv", "key", "put", "empty", "", ...options)).toMatchObject({ code: 0 });
    expect(await desk.value("empty")).toEqual(Buffer.alloc(0));
    expect(await desk.keys()).toContainEqual({ name: "empty", expiration: 4_102_444_800 });
  });
});

test.each(["a/b", "a?b=c&d", "100%", "%2F", "a#b", "straße/münchen", "..a", "-x"])(
  "writes, reads and deletes the key %j",
  async (key) => {
    expect(await desk.here("kv", "key", "put", "--binding", "EXISTING", "--", key, "v1")).toMatchObject({
      code: 0,
    });
    expect(String(await desk.value(key))).toBe("v1");
    expect(await desk.here("kv", "key", "get", "--binding", "EXISTING", "--", key)).toMatchObject({
      stdout: "v1",
    });
    expect(await desk.here("kv", "key", "delete", "--yes", "--binding", "EXISTING", "--", key)).toMatchObject(
      { code: 0 },
    );
    expect(await desk.value(key)).toBeUndefined();
  },
);

test.each([
  ["a b", "contains U\\+0020 at position 2"],
  ["", "is empty"],
  ["..", 'is "\\.\\."'],
  ["k".repeat(513), "is 513 bytes; the limit is 512"],
])("refuses the key %j before sending anything", async (key, why) => {
  for (const verb of [
    ["put", key, "v"],
    ["get", key],
    ["delete", key, "--yes"],
  ]) {
    const ran = await desk.here("kv", "key", ...verb, "--binding", "EXISTING");
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toMatch(new RegExp(why));
  }
  expect(desk.api.requests).toHaveLength(0);
});

test("key list prints the names, expirations and metadata of all pages as one array", async () => {
  const many = Array.from({ length: 1_205 }, (_, i) => ({
    key: `many/${String(i).padStart(4, "0")}`,
    value: "v",
  }));
  await desk.raw("PUT", `/${desk.api.namespaces.existing}/bulk`, many);
  const ran = await desk.here("kv", "key", "list", "--prefix", "many/", "--binding", "EXISTING");
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(ran.stdout)).toEqual(many.map(({ key }) => ({ name: key })));
  const all = await desk.here("kv", "key", "list", "--binding", "EXISTING");
  expect(JSON.parse(all.stdout)).toContainEqual({ name: "feature:new-cart", expiration: 4_102_444_800 });
  expect(JSON.parse(all.stdout)).toContainEqual(
    expect.objectContaining({ metadata: { owner: "shop", revision: 3 } }),
  );
  expect(await desk.here("kv", "key", "list", "--prefix", "none/", "--binding", "EXISTING")).toMatchObject({
    stdout: "[]\n",
  });
});

test("key delete sends one request, whether the key exists or not", async () => {
  const ran = await desk.here("kv", "key", "delete", "nothing", "--binding", "EXISTING", "--remote", "-f");
  expect(ran).toMatchObject({ code: 0, stdout: "" });
  expect(ran.stderr).toMatch(/^edgeguard: deleted key "nothing" from namespace .*, if it existed\.\n$/);
  expect(desk.api.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    `DELETE ${desk.namespaces}/${desk.api.namespaces.existing}/values/nothing`,
  ]);
});

test("key get says whether the key or the namespace is missing", async () => {
  const ran = await desk.here("kv", "key", "get", "nothing", "--binding", "EXISTING");
  expect(ran).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining('has no key "nothing"') as string,
  });
  const nowhere = await desk.here("kv", "key", "get", "nothing", "--namespace-id", "f".repeat(32));
  expect(nowhere.stderr).toContain("Run `edgeguard kv namespace list` to see the account's namespaces.");
});

describe("bulk commands", () => {
  const entries = [
    { key: "bulk/plain", value: "one" },
    { key: "bulk/meta", value: "two", metadata: { rank: 2 }, expiration_ttl: 3600 },
    { key: "bulk/bytes", value: "/wAB", base64: true },
    { key: "bulk/past", value: "old", expiration: 1_000_000_000 },
  ];

  test("bulk put writes the entries from a file, bulk get prints them in the same format, and bulk delete accepts the output of key list", async () => {
    desk.write("entries.json", JSON.stringify(entries));
    const put = await desk.here("kv", "bulk", "put", "entries.json", "--binding", "EXISTING");
    expect(put).toMatchObject({ code: 0, stdout: "" });
    expect(put.stderr).toMatch(/wrote 3 entries to namespace .* in .* s, skipped 1 entry that had expired\./);
    expect(await desk.value("bulk/bytes")).toEqual(Buffer.from([0xff, 0, 1]));
    expect(await desk.keys()).toContainEqual(
      expect.objectContaining({ name: "bulk/meta", metadata: { rank: 2 } }),
    );

    const listed = await desk.here("kv", "key", "list", "--prefix", "bulk/", "--binding", "EXISTING");
    desk.write("keys.json", listed.stdout);
    const got = await desk.here("kv", "bulk", "get", "keys.json", "--binding", "EXISTING");
    expect(got).toMatchObject({ code: 0, stderr: "" });
    const sorted = (JSON.parse(got.stdout) as { key: string }[]).sort((a, b) => (a.key < b.key ? -1 : 1));
    expect(sorted).toEqual([
      { key: "bulk/bytes", value: "/wAB", base64: true },
      { key: "bulk/meta", value: "two", metadata: { rank: 2 } },
      { key: "bulk/plain", value: "one" },
    ]);

    const deleted = await desk.here("kv", "bulk", "delete", "keys.json", "--binding", "EXISTING", "--yes");
    expect(deleted).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringMatching(/deleted 3 keys/) as string,
    });
    expect((await desk.keys()).filter(({ name }) => String(name).startsWith("bulk/"))).toEqual([]);
  });

  test("bulk delete accepts the same file as bulk put, and asks for confirmation", async () => {
    desk.write("entries.json", JSON.stringify(entries.slice(0, 3)));
    const onExisting = ["entries.json", "--binding", "EXISTING", "--remote"];
    await desk.here("kv", "bulk", "put", ...onExisting);
    const asked = await desk.here("kv", "bulk", "delete", ...onExisting);
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringMatching(/Delete 3 keys from/) as string });
    expect(await desk.value("bulk/plain")).toEqual(Buffer.from("one"));
    expect(await desk.here("kv", "bulk", "delete", ...onExisting, "-f")).toMatchObject({ code: 0 });
    expect((await desk.keys()).filter(({ name }) => String(name).startsWith("bulk/"))).toEqual([]);
  });

  test("bulk put --dry-run checks and counts without credentials or requests", async () => {
    desk.write("entries.json", JSON.stringify(entries));
    const ran = await desk.at(
      { env: {} },
      "kv",
      "bulk",
      "put",
      "entries.json",
      "--binding",
      "EXISTING",
      "--dry-run",
    );
    expect(ran).toMatchObject({ code: 0, stdout: "" });
    expect(ran.stderr).toMatch(
      /entries\.json is valid: 3 entries to write, 12 bytes of values in total, skipped 1 entry that had expired/,
    );
    expect(desk.api.requests).toHaveLength(0);
  });

  test("bulk get prints the keys that exist, and fails if any are missing", async () => {
    desk.write("keys.json", '["greeting", "nothing", {"name":"nobody"}]');
    const ran = await desk.here("kv", "bulk", "get", "keys.json", "--binding", "EXISTING");
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.stdout)).toEqual([{ key: "greeting", value: "Hello" }]);
    expect(ran.stderr).toMatch(/2 of 3 keys are not in .*: "nothing", "nobody"\./);
  });

  test("bulk delete fails if the namespace doesn't exist", async () => {
    desk.write("keys.json", '["greeting"]');
    const ran = await desk.here(
      "kv",
      "bulk",
      "delete",
      "keys.json",
      "--namespace-id",
      "f".repeat(32),
      "--yes",
    );
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringMatching(/namespace not found/) as string });
    expect(writes()).toEqual([]);
  });
});

test("commands spelled with a colon, as in earlier versions, still work and print one deprecation warning", async () => {
  const ran = await desk.here("kv:key", "get", "greeting", "--binding", "EXISTING");
  expect(ran).toMatchObject({ code: 0, stdout: "Hello" });
  expect(ran.stderr).toBe('edgeguard: "kv:key" is deprecated and will be removed. Use "kv key".\n');
  expect((await desk.here("kv:namespace", "list")).stderr.match(/deprecated/g)).toHaveLength(1);
  desk.write("keys.json", '["greeting"]');
  expect(await desk.here("kv:bulk", "get", "keys.json", "--binding", "EXISTING")).toMatchObject({ code: 0 });
});

test("kv commands don't load Pulumi", async () => {
  const hook = desk.write(
    "hook.cjs",
    `process.on("exit", () => console.error(Object.keys(require.cache).filter((path) => path.includes("@pulumi")).length, "of Pulumi"));`,
  );
  const env = { ...desk.env, NODE_OPTIONS: `--require ${hook}` };
  const ran = await ended(desk.start(["kv", "key", "get", "greeting", "--binding", "EXISTING"], { env }));
  expect(ran).toMatchObject({ code: 0, stdout: "Hello", stderr: "0 of Pulumi\n" });
});

test("package.json declares an executable bin", () => {
  const provider = join(__dirname, "../../provider");
  const { bin } = JSON.parse(readFileSync(join(provider, "package.json"), "utf8")) as {
    bin: Record<string, string>;
  };
  expect(readFileSync(join(provider, bin["edgeguard"] ?? ""), "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
});
