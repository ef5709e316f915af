import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { register } from "../../provider/cli/kv";
import { processIo } from "../../provider/terminal/io";
import { Desk, type Ran } from "./support";

/** Help, mistakes, configuration files and confirmations. */

let desk: Desk;
beforeAll(async () => {
  desk = await Desk.set();
});
beforeEach(() => desk.api.clearRequests());

describe("help", () => {
  const leaves = (command: Command, path: readonly string[]): string[][] =>
    command.commands.length === 0
      ? [[...path]]
      : command.commands.flatMap((each) => leaves(each, [...path, each.name()]));
  const program = new Command();
  register(program, processIo());

  test.each(leaves(program, []).map((path) => [path.join(" ")]))("has one example for %s", async (path) => {
    const ran = await desk.here(...path.split(" "), "--help");
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(ran.stdout.match(/^ {2}\$ edgeguard .*$/gm)).toEqual([
      expect.stringContaining(`edgeguard ${path}`),
    ]);
  });

  test("loads only the parser, like --version", async () => {
    const { version } = jest.requireActual<{ version: string }>("../../provider/package.json");
    expect(await desk.bin("--version")).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: "" });
  });
});

describe("a kv command line", () => {
  const EXISTING = ["--binding", "EXISTING"];
  const put = (...more: string[]): string[] => ["kv", "key", "put", "key", "value", ...EXISTING, ...more];
  test.each<[string, string[], RegExp]>([
    ["no command", ["kv"], /Usage: edgeguard kv/],
    ["an unknown command", ["kv", "key", "putt"], /unknown command 'putt'[^]*Did you mean put/],
    ["an unknown option", put("--tll", "60"), /unknown option '--tll'[^]*Did you mean --ttl/],
    ["a missing argument", ["kv", "key", "get", ...EXISTING], /missing required argument 'KEY'/],
    ["an extra argument", ["kv", "key", "get", "a", "b", ...EXISTING], /too many arguments/],
    [
      "no namespace",
      ["kv", "key", "get", "a"],
      /no namespace\. Pass --binding <name>, --namespace-id <id> or --title <title>\./,
    ],
    [
      "a title with --local",
      ["kv", "key", "get", "a", "--title", "existing", "--local"],
      /--title finds a namespace of the account/,
    ],
    [
      "a title and a binding",
      put("--title", "existing"),
      /'--title <title>' cannot be used with option '--binding/,
    ],
    ["two namespaces", put("--namespace-id", "a".repeat(32)), /cannot be used with option '--namespace-id/],
    ["an ID that's too short", ["kv", "key", "get", "a", "--namespace-id", "abc"], /An ID has 32 hex digits/],
    ["a TTL below 60 seconds", put("--ttl", "59"), /TTL must be at least 60 seconds/],
    ["a TTL that isn't a number", put("--ttl", "soon"), /Pass a whole number of seconds/],
    [
      "an expiration in the past",
      put("--expiration", "1000000000"),
      /is 2001-09-09T01:46:40Z; .* at least 60 seconds from now/,
    ],
    ["no value", ["kv", "key", "put", "key", ...EXISTING], /Pass VALUE or --path/],
    ["two values", put("--path", "wrangler.toml"), /VALUE or --path, not both/],
    [
      "metadata that isn't JSON",
      put("--metadata", "{s3cret"),
      /--metadata is not valid JSON\. Pass an object/,
    ],
    ["metadata that isn't an object", put("--metadata", "[1]"), /--metadata is not an object/],
    [
      "too much metadata",
      put("--metadata", JSON.stringify({ a: "x".repeat(1017) })),
      /is 1,025 bytes of JSON; the limit is 1,024/,
    ],
    ["--persist-to alone", put("--persist-to", "data"), /--persist-to needs --local/],
    ["--remote with --local", put("--local", "--remote"), /'--remote' cannot be used with option '--local'/],
    ["an empty name", ["kv", "namespace", "create", " "], /name is empty/],
    [
      "a name that's too long",
      ["kv", "namespace", "create", "n".repeat(513)],
      /is 513 characters; the limit is 512/,
    ],
    [
      "a rename without a namespace",
      ["kv", "namespace", "rename", "--new-name", "x"],
      /exactly one of OLD_NAME/,
    ],
  ])("fails with exit code 2 and no request if it has %s", async (_, args, words) => {
    const ran = await desk.here(...args);
    expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code: 2, stdout: "" });
    expect(ran.stderr).toMatch(words);
    expect(ran.stderr).not.toContain("s3cret");
    expect(desk.api.requests).toHaveLength(0);
  });

  test("succeeds with values at the limits", async () => {
    const metadata = JSON.stringify({ a: "x".repeat(1016) });
    expect(Buffer.byteLength(metadata)).toBe(1024);
    expect(await desk.here(...put("--ttl", "60", "--metadata", metadata))).toMatchObject({ code: 0 });
    expect(await desk.here("kv", "key", "put", "k".repeat(512), "v", ...EXISTING)).toMatchObject({ code: 0 });
    const soon = Math.ceil(Date.now() / 1000) + 60 + 60; // A minute to spare, for a busy machine.
    expect(await desk.here(...put("--expiration", String(soon)))).toMatchObject({ code: 0 });
  });
});

describe("a kv command", () => {
  const get = ["kv", "key", "get", "greeting"];

  test("exits with 1 without credentials", async () => {
    const ran = await desk.at({ env: { EDGEGUARD_BASE_URL: desk.api.url } }, ...get, "--binding", "EXISTING");
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr).toMatch(/this command needs credentials, and none are set\. Set CLOUDFLARE_API_TOKEN/);
  });

  test("exits with 1 if the token is refused, and doesn't print it", async () => {
    const env = { ...desk.env, CLOUDFLARE_API_TOKEN: "wrong-token-0815" };
    const ran = await desk.at({ env }, ...get, "--binding", "EXISTING");
    expect(ran.code).toBe(1);
    expect(ran.stderr).toMatch(
      /The token from CLOUDFLARE_API_TOKEN lacks the Workers KV Storage Read permission/,
    );
    expect(ran.stderr).not.toContain("0815");
  });

  test("uses the token's only account if none is set, and otherwise names the accounts", async () => {
    const other = join(desk.cwd, "elsewhere.toml");
    desk.write("elsewhere.toml", "");
    const { existing } = desk.api.namespaces;
    const unset = async () => await desk.here(...get, "--namespace-id", existing, "--config", other);
    expect(await unset()).toMatchObject({ code: 0, stderr: "" });
    const match = { path: "^/accounts$" };
    const result = ["a", "b"].map((id) => ({ id: id.repeat(32), name: `team ${id}` }));
    desk.api.fault({ match, kind: "raw", status: 200, body: JSON.stringify({ success: true, result }) });
    expect(await unset()).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /no account\. Pass --account-id, .* The token can see a{32} \(team a\), b{32} \(team b\)\.\n$/,
      ) as string,
    });
    desk.api.fault({ match, kind: "status", status: 403, code: 10000 });
    expect((await unset()).stderr).toMatch(
      /no account\. Pass --account-id, .* set CLOUDFLARE_ACCOUNT_ID\.\n$/,
    );
  });

  test("exits with 1 for an invalid setting, and names its variable", async () => {
    const ran = await desk.at(
      { env: { ...desk.env, EDGEGUARD_CONCURRENCY: "many" } },
      ...get,
      "--binding",
      "EXISTING",
    );
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/EDGEGUARD_CONCURRENCY is "many"/) as string,
    });
    const nowhere = await desk.at(
      { env: { ...desk.env, EDGEGUARD_BASE_URL: "http://127.0.0.1:9/v4" } },
      ...get,
      "--binding",
      "EXISTING",
    );
    expect(nowhere.stderr).toMatch(/Check EDGEGUARD_BASE_URL and the network\./);
  });

  test("exits with 1 if the value's file can't be read", async () => {
    const put = ["kv", "key", "put", "key", "--binding", "EXISTING", "--path"];
    expect((await desk.here(...put, "nothing.bin")).stderr).toMatch(
      /nothing\.bin can't be read: it does not exist \(full path: \//,
    );
    desk.write("large.bin", Buffer.alloc(26_214_401));
    expect(await desk.here(...put, "large.bin")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("value is 26,214,401 bytes; the limit is 26,214,400") as string,
    });
  });
});

describe("the configuration file", () => {
  const id = (digit: string): string => digit.repeat(32);
  const resolved = async (...args: string[]): Promise<Ran> => {
    desk.write("one.json", '[{"key":"a","value":"b"}]');
    return await desk.here("kv", "bulk", "put", "one.json", "--dry-run", ...args);
  };
  const TOML = `
name = "shop"
[[kv_namespaces]]
binding = "CATALOG"
id = "${id("a")}"
preview_id = "${id("b")}"
[[kv_namespaces]]
binding = "DRAFTS"
preview_id = "${id("f")}"
[env.staging]
[[env.staging.kv_namespaces]]
binding = "CATALOG"
id = "${id("c")}"
preview_id = "${id("d")}"
[env.bare]
`;
  const JSONC = `{
  // A comment, and a comma at the end of a list.
  "kv_namespaces": [{ "binding": "CATALOG", "id": "${id("a")}", "preview_id": "${id("b")}" },],
  "env": { "staging": { "kv_namespaces": [{ "binding": "CATALOG", "id": "${id("c")}", "preview_id": "${id("d")}" }] } }
}`;

  describe.each([
    ["own.toml", TOML],
    ["own.jsonc", JSONC],
    ["own.json", JSONC],
  ])("%s", (name, text) => {
    test.each([
      [[], "a"],
      [["--preview"], "b"],
      [["--env", "staging"], "c"],
      [["--env", "staging", "--preview"], "d"],
    ])("selects the right namespace with the options %j", async (options, digit) => {
      desk.write(name, text);
      const ran = await resolved("--binding", "CATALOG", "--config", name, ...options);
      expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining(id(digit)) as string });
    });
  });

  test.each([
    ["namespace delete", ["--yes"]],
    ["namespace rename", ["--new-name", "goods"]],
    ["key put", ["greeting", "Hello"]],
    ["key list", []],
    ["key get", ["greeting"]],
    ["key delete", ["greeting", "--yes"]],
    ["bulk put", ["entries.json"]],
    ["bulk get", ["keys.json"]],
    ["bulk delete", ["keys.json", "--yes"]],
  ])("selects the environment's namespace for kv %s --env", async (command, more) => {
    desk.write("own.toml", TOML);
    desk.write("entries.json", '[{"key":"greeting","value":"Hello"}]');
    desk.write("keys.json", '["greeting"]');
    const options = ["--binding", "CATALOG", "--config", "own.toml", "--env", "staging"];
    const account = ["--account-id", desk.api.accounts.main];
    await desk.here("kv", ...command.split(" "), ...more, ...options, ...account);
    const asked = desk.api.requests.map(({ path }) => /namespaces\/([0-9a-f]{32})/.exec(path)?.[1]);
    expect(new Set(asked)).toEqual(new Set([id("c")]));
  });

  test("selects the environment in CLOUDFLARE_ENV, unless --env does or there is no configuration file", async () => {
    desk.write("own.toml", TOML);
    desk.write("one.json", '[{"key":"a","value":"b"}]');
    const put = ["kv", "bulk", "put", "one.json", "--dry-run"];
    const from = ["--binding", "CATALOG", "--config", "own.toml"];
    const at = (CLOUDFLARE_ENV: string, ...options: readonly string[]): Promise<Ran> =>
      desk.at({ env: { ...desk.env, CLOUDFLARE_ENV } }, ...put, ...options);
    const staging = await at("staging", ...from);
    expect(staging.stderr).toContain(id("c"));
    expect(staging.stderr).toContain('edgeguard: using the environment "staging" from CLOUDFLARE_ENV.');
    expect((await at("staging", ...from, "--env", "")).stderr).toContain(id("a"));
    expect((await at("", ...from)).stderr).toContain(id("a"));
    expect((await at("bare", ...from, "--env", "staging")).stderr).toContain(id("c"));
    expect((await at("stagin", ...from)).stderr).toContain('no environment "stagin"');
    const anywhere = { cwd: "/", env: { ...desk.env, CLOUDFLARE_ENV: "staging" } };
    const listed = await desk.at(
      anywhere,
      "kv",
      "key",
      "list",
      "--namespace-id",
      desk.api.namespaces.existing,
    );
    expect(listed.stderr).not.toContain("--env");
  });

  test("sets the environment's account for kv namespace list --env", async () => {
    desk.write("own.toml", `account_id = "${id("1")}"\n[env.staging]\naccount_id = "${id("2")}"\n`);
    await desk.here("kv", "namespace", "list", "--config", "own.toml", "--env", "staging");
    expect(desk.api.requests.map(({ path }) => path.split("/")[2])).toEqual([id("2")]);
  });

  test.each([
    ["namespace create", ["shop"]],
    ["namespace list", []],
    ["namespace rename", ["old", "--new-name", "goods"]],
    ["namespace delete", ["--namespace-id", id("a"), "--yes"]],
    ["key get", ["greeting", "--namespace-id", id("a"), "--local"]],
    ["bulk put", ["entries.json", "--namespace-id", id("a")]],
  ])("makes kv %s fail if it doesn't have the environment", async (command, more) => {
    desk.write("own.toml", TOML);
    desk.write("entries.json", '[{"key":"greeting","value":"Hello"}]');
    const options = ["--config", "own.toml", "--env", "stagin"];
    const ran = await desk.here("kv", ...command.split(" "), ...more, ...options);
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr).toContain('own.toml has no environment "stagin" (did you mean "staging"?)');
    expect(desk.api.requests).toHaveLength(0);
  });

  test.each([
    ["an empty file", ""],
    ["a file without a final line break", 'name = "shop"'],
    [
      "a file that ends with another table",
      '[vars]\nSHOP = "kettles"\n[env.staging]\n[env.staging.vars]\nSHOP = "test"',
    ],
    ["a file that already has a namespace", `[[kv_namespaces]]\nbinding = "A"\nid = "${id("a")}"`],
  ])("stays valid after the output of namespace create is appended to %s", async (_, before) => {
    desk.api.reset();
    const path = desk.write("own.toml", before);
    const create = ["kv", "namespace", "create", "DRAFTS", "--config", "own.toml"];
    const made = await desk.here(...create, "--account-id", desk.api.accounts.main);
    expect(made.code).toBe(0);
    appendFileSync(path, made.stdout);
    const [, target = ""] = /\((\w{32})\)/.exec(made.stderr) ?? [];
    expect(await resolved("--binding", "DRAFTS", "--config", "own.toml")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`namespace ${target} (binding DRAFTS)`) as string,
    });
  });

  test("makes namespace create print a comment, not a table, if it has the binding or an array of namespaces", async () => {
    desk.api.reset();
    const account = `account_id = "${desk.api.accounts.main}"\n`;
    desk.write("own.toml", `${account}[[kv_namespaces]]\nbinding = "CATALOG"\nid = "${id("a")}"`);
    desk.write("array.toml", `${account}kv_namespaces = [{ binding = "CATALOG", id = "${id("a")}" }]`);
    const create = (...args: string[]): Promise<Ran> => desk.here("kv", "namespace", "create", ...args);

    const preview = await create("CATALOG", "--preview", "--config", "own.toml");
    const [, made = ""] = /\((\w{32})\)/.exec(preview.stderr) ?? [];
    expect(preview.stdout).toBe(`\n# binding = "CATALOG", preview_id = "${made}"\n`);
    expect(preview.stderr).toContain(
      `own.toml already has the binding "CATALOG". Set preview_id = "${made}" in its table.`,
    );
    const again = await create("CATALOG", "--config", "own.toml");
    expect(again.stdout).toMatch(/^\n# binding = "CATALOG", id = "\w{32}"\n$/);
    expect(again.stderr).toContain(`in its table, replacing "${id("a")}".`);
    const array = await create("DRAFTS", "--config", "array.toml");
    expect(array.stdout).toMatch(/^\n# binding = "DRAFTS", id = "\w{32}"\n$/);
    expect(array.stderr).toMatch(
      /array\.toml already defines kv_namespaces as an inline array\. Add \{ binding = "DRAFTS", id = "\w{32}" \} to that array\./,
    );
  });

  test("is the nearest one in this directory or its parents", async () => {
    const below = join(desk.cwd, "src", "deep");
    mkdirSync(below, { recursive: true });
    const ran = await desk.at({ cwd: below }, "kv", "key", "get", "greeting", "--binding", "EXISTING");
    expect(ran).toMatchObject({ code: 0, stdout: "Hello" });
    const outside = await desk.at({ cwd: "/" }, "kv", "key", "get", "greeting", "--binding", "EXISTING");
    expect(outside).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/there is no wrangler\.toml.* or its parent directories/) as string,
    });
    expect(await desk.at({ cwd: "/" }, "kv", "namespace", "list", "--env", "staging")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--env needs a configuration file, but there is no wrangler/) as string,
    });
  });

  test.each<[string, string[], RegExp]>([
    [
      "an unknown binding",
      ["--binding", "CATALOGUE"],
      /own\.toml has no KV binding named "CATALOGUE" \(did you mean "CATALOG"\?\)/,
    ],
    [
      "an unknown environment",
      ["--binding", "CATALOG", "--env", "production"],
      /own\.toml has no environment "production"; it has "staging", "bare"/,
    ],
    [
      "a binding that isn't inherited",
      ["--binding", "CATALOG", "--env", "bare"],
      /Environments don't inherit bindings/,
    ],
    ["a missing ID", ["--binding", "DRAFTS"], /has no id; pass --preview to use its preview_id/],
  ])("makes a command fail for %s", async (_, options, words) => {
    desk.write("own.toml", TOML);
    const ran = await resolved("--config", "own.toml", ...options);
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringMatching(words) as string });
  });

  test.each([
    ["bad.toml", 'name = "shop"\nkv_namespaces = [ s3cret\n', /bad\.toml, line 2, column 19: /],
    [
      "bad.jsonc",
      '{\n  "kv_namespaces": [\n    { "binding": "A" "id": "s3cret" }\n  ]\n}',
      /bad\.jsonc, line 3, column 22: comma expected/,
    ],
    ["bad.json", '{ "kv_namespaces": [{ "binding": 7 }] }', /bad\.json: kv_namespaces\[0\]\.binding: /],
    ["missing.toml", undefined, /missing\.toml can't be read: it does not exist/],
  ])("isn't quoted in the error if it can't be used: %s", async (name, text, words) => {
    if (text !== undefined) desk.write(name, text);
    const ran = await resolved("--binding", "A", "--config", name);
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringMatching(words) as string });
    expect(ran.stderr).not.toContain("s3cret");
  });

  test("sets the account, with a warning if the environment variable differs; --account-id overrides both", async () => {
    const env = { ...desk.env, CLOUDFLARE_ACCOUNT_ID: "e".repeat(32) };
    const both = await desk.at({ env }, "kv", "namespace", "list");
    expect(both).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /using account [0-9a-f]{32} from wrangler\.toml, not the one in CLOUDFLARE_ACCOUNT_ID/,
      ) as string,
    });
    const chosen = await desk.at({ env }, "kv", "namespace", "list", "--account-id", "d".repeat(32));
    expect(chosen).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`/accounts/${"d".repeat(32)}/`) as string,
    });
  });

  test("determines the format in which namespace create prints the binding", async () => {
    desk.write("own.jsonc", JSONC.replace("{", `{ "account_id": "${desk.api.accounts.main}",`));
    const ran = await desk.here(
      "kv",
      "namespace",
      "create",
      "9 lives",
      "--config",
      "own.jsonc",
      "--env",
      "staging",
    );
    const made = JSON.parse(ran.stdout) as { env: { staging: { kv_namespaces: object[] } } };
    expect(made.env.staging.kv_namespaces).toEqual([
      { binding: "_9_lives", id: expect.stringMatching(/^[0-9a-f]{32}$/) as string },
    ]);
  });
});

describe("an unusable file", () => {
  test.each<[string, string, string, RegExp]>([
    [
      "put",
      "a missing comma",
      '[\n  {"key":"a","value":"x"}\n  {"key":"b","value":"s3cret"}\n]',
      /data\.json, line 2: entry 1 is not valid JSON/,
    ],
    [
      "put",
      "a truncated file",
      '[\n  {"key":"a","value":"x"},\n  {"key"',
      /data\.json: the file ends inside entry 2, which begins on line 3/,
    ],
    ["put", "an object", '{"key":"a"}', /data\.json, line 1: the file is not an array/],
    [
      "put",
      "invalid entries",
      '[\n{"key":"a b","value":"s3cret"},\n{"key":"c","value":7},\n{"key":"d","value":"x","expiration_ttl":59}]',
      /entry 1 \(line 2, key "a b"\): key contains U\+0020[^]*entry 2 \(line 3, key "c"\): value is a number[^]*expiration_ttl is 59 seconds; the minimum is 60[^]*Nothing was sent/,
    ],
    [
      "put",
      "a duplicate key",
      '[{"key":"a","value":"x"},\n{"key":"a","value":"y"}]',
      /entry 2 \(line 2, key "a"\): the key is already used in entry 1 \(line 1\)/,
    ],
    [
      "delete",
      "a missing quote",
      '[\n  "a",\n  "b,\n  "c"\n]',
      /data\.json, line 3: entry 2 is not valid JSON/,
    ],
    [
      "delete",
      "an item that isn't a key",
      '[\n  "a",\n  {"id": 7}\n]',
      /data\.json, line 3: entry 2: expected a string, or an object with a name/,
    ],
    ["get", "an invalid key", '["ok",  "not ok"]', /data\.json, line 1: entry 2: key contains U\+0020/],
    ["get", "an empty file", "", /data\.json is empty/],
  ])("makes bulk %s fail without a request: %s", async (verb, _, text, words) => {
    desk.write("data.json", text);
    const ran = await desk.here(
      "kv",
      "bulk",
      verb,
      "data.json",
      "--binding",
      "EXISTING",
      ...(verb === "delete" ? ["--yes"] : []),
    );
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr).toMatch(words);
    expect(ran.stderr).not.toContain("s3cret");
    expect(desk.api.requests).toHaveLength(0);
  });

  test.each(["put", "get", "delete"])("makes bulk %s fail if it doesn't exist", async (verb) => {
    const ran = await desk.here("kv", "bulk", verb, "nowhere.json", "--binding", "EXISTING");
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/nowhere\.json can't be read: it does not exist/) as string,
    });
  });
});

describe("confirmation", () => {
  const existing = (): string => desk.api.namespaces.existing;
  const DELETES: [string, string[], RegExp][] = [
    [
      "namespace",
      ["kv", "namespace", "delete"],
      /Delete namespace "existing" \([0-9a-f]{32}\), with \d+ keys\? \[y\/n\]/,
    ],
    [
      "key",
      ["kv", "key", "delete", "greeting"],
      /Delete key "greeting" from namespace [0-9a-f]{32} \(binding EXISTING\)\? \[y\/n\]/,
    ],
    [
      "bulk",
      ["kv", "bulk", "delete", "keys.json"],
      /Delete 1 key from namespace "existing" \([0-9a-f]{32}\)\? \[y\/n\]/,
    ],
  ];
  beforeEach(() => {
    desk.api.reset();
    desk.write("keys.json", '["greeting"]');
  });
  const greeting = async (): Promise<string> => String(await desk.value("greeting", existing()));

  test.each(DELETES)(
    "is requested before a %s delete on a terminal, where anything but yes means no",
    async (_, args, question) => {
      for (const typed of ["n\n", "\n", "yesterday\n", "\u0003"]) {
        const no = await desk.at({ typed }, ...args, "--binding", "EXISTING");
        expect(no).toMatchObject({ code: 1, stdout: "" });
        expect(no.stderr).toMatch(question);
        expect(no.stderr).toContain("nothing was deleted");
        expect(await greeting()).toBe("Hello");
      }
      expect(await desk.at({ typed: "y\n" }, ...args, "--binding", "EXISTING")).toMatchObject({
        code: 0,
        stdout: "",
      });
      expect(await greeting()).toBe("undefined");
    },
  );

  test.each(DELETES)("requires --yes for a %s delete without a terminal", async (_, args) => {
    const refused = await desk.here(...args, "--binding", "EXISTING");
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toMatch(
      /nothing was deleted, because there's no terminal to ask ".*"\. Pass --yes to confirm\./,
    );
    expect(await greeting()).toBe("Hello");
    expect(await desk.here(...args, "--binding", "EXISTING", "-y")).toMatchObject({ code: 0, stdout: "" });
    expect(await greeting()).toBe("undefined");
  });
});

test("bulk delete doesn't ask if there are no keys", async () => {
  desk.write("keys.json", "[]");
  const ran = await desk.here("kv", "bulk", "delete", "keys.json", "--binding", "EXISTING");
  expect(ran).toMatchObject({
    code: 0,
    stderr: "edgeguard: keys.json has no keys; nothing was deleted.\n",
  });
  expect(desk.api.requests).toHaveLength(0);
});

test("namespace create says that the title is taken, and how to find the ID", async () => {
  const ran = await desk.here("kv", "namespace", "create", "existing");
  expect(ran).toMatchObject({ code: 1, stdout: "" });
  expect(ran.stderr).toMatch(
    /Creating namespace "existing" failed: .*\[code 10014\].*Find the existing namespace's ID with `edgeguard kv namespace list`\./,
  );
});

test("warns that --preview has no effect with --namespace-id", async () => {
  const ran = await desk.here(
    "kv",
    "key",
    "get",
    "logo.ico",
    "--namespace-id",
    desk.api.namespaces.existing,
    "--preview",
  );
  expect(ran).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/--preview has no effect with --namespace-id/) as string,
  });
});

test("says where the account ID came from if the account doesn't exist", async () => {
  const ran = await desk.here("kv", "namespace", "list", "--account-id", "f".repeat(32));
  expect(ran).toMatchObject({ code: 1 });
  expect(ran.stderr).toContain(
    "Check the account ID and the namespace ID (--account-id, --namespace-id, or the configuration file).",
  );
});
