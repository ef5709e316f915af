import { parse } from "yaml";
import { call, Code, codeOf, objectOf, reference } from "../../provider/import/code";
import type { ArgumentWriter } from "../../provider/import/existing";
import { distinctNames, hostsIn, identifier, slug } from "../../provider/import/names";
import { commented } from "../../provider/import/printing/comments";
import { print } from "../../provider/import/printing/typescript";
import { yamlProgram } from "../../provider/import/printing/yaml";
import { destinationCode } from "../../provider/import/reading/destination";
import { filterCode } from "../../provider/import/reading/filter";
import { typedDestination } from "../../provider/logpush/destination-schemes";
import { isShownAs, sameDestination } from "../../provider/logpush/destination-text";

describe("names in the generated program", () => {
  it.each([
    ["Checkout: own scripts", "checkout-own-scripts"],
    ["  Café & Zürich ", "cafe-zurich"],
    ["日本語", ""],
    ["a".repeat(70), "a".repeat(64)],
    [
      "one two three four five six seven eight nine ten eleven twelve thirteen",
      "one-two-three-four-five-six-seven-eight-nine-ten-eleven-twelve",
    ],
  ])("come from the names or descriptions of the objects: %j", (text, name) => expect(slug(text)).toBe(name));

  it("distinguish objects with the same label by other labels, then by ID, whatever their order", () => {
    const objects = [
      { id: "0f2a11112222", labels: ["checkout"] },
      { id: "1111", labels: ["CSP", "www.shop.example"] },
      { id: "2222", labels: ["CSP", "blog.shop.example"] },
      { id: "9c1d33334444", labels: ["Checkout!"] },
      { id: "3333", labels: ["日本語", "a.example"] },
      { id: "4444", labels: ["404"] },
    ];
    const names = [
      "checkout0f2a1111",
      "cspWwwShopExample",
      "cspBlogShopExample",
      "checkout9c1d3333",
      "policy",
      "policy404",
    ];
    expect(distinctNames(objects, "policy")).toEqual(names);
    expect(distinctNames([...objects].reverse(), "policy")).toEqual([...names].reverse());
  });

  it.each([
    ["shop-example", "shopExample"],
    ["2nd-shop", "zone2ndShop"],
    ["v10-2", "v10_2"],
    ["delete", "zoneDelete"],
    ["", "zone"],
  ])("are valid identifiers, whatever the label: %j", (name, constant) =>
    expect(identifier(name, "zone")).toBe(constant),
  );

  it("come from the hosts in an object's expressions if the object has no label", () => {
    expect(
      hostsIn('(http.host in {"www.shop.example" "Shop.example"} or http.host eq "a.b") and x eq "c.d"'),
    ).toEqual(["a.b", "shop.example", "www.shop.example"]);
  });
});

describe("the printer", () => {
  it("prints one item a line, with constants and calls, in code that evaluates to the original value", () => {
    const code = codeOf({
      zoneId: reference("zoneId", "0da4"),
      f: call("filter.eq", ["a", reference("b", 2)], { key: "a" }),
      "b-c": [true, { d: [], __proto: null }],
      e: undefined,
    });
    expect(print(code)).toBe(
      '{\n  zoneId,\n  f: filter.eq("a", b),\n  "b-c": [\n    true,\n    {\n      d: [],\n      __proto: null,\n    },\n  ],\n}',
    );
    expect(code.value).toEqual({ zoneId: "0da4", f: { key: "a" }, "b-c": [true, { d: [], __proto: null }] });
  });

  it("prints any text as a string literal with the same value", () => {
    const odd = "line\nbreak \u2028 \"quoted\" 'both' ` ${x} */ \\ \ud800";
    const asRun = (value: unknown): unknown => eval(`(${print(codeOf(value))})`);
    for (const text of [odd, 'say "a\\b"', "it's"]) expect(asRun(text)).toBe(text);
    const members = JSON.parse('{"__proto__": 1, "a b": 2, "constructor": 3}') as object;
    expect(Object.entries(asRun(members) as object)).toEqual(Object.entries(members));
  });

  it("prints comments that no text can break out of", () => {
    expect(commented("// ", "first\n process.exit() \u2028 x", "two")).toBe(
      "// first process.exit() x\n// two",
    );
    expect(print(objectOf({ a: 1 }, { a: "why" }))).toBe("{\n  // why\n  a: 1,\n}");
  });
});

/** Stands in for the program: a secret is `config:name`, or `hidden:name` if Cloudflare hides it. */
const writing: ArgumentWriter = {
  hasBuilders: true,
  scope: () => codeOf(""),
  idOf: () => undefined,
  secret: (name, { value, isShown }) =>
    new Code(value, { kind: "secret", key: `${isShown ? "config" : "hidden"}:${name}` }),
};

describe("a program in YAML", () => {
  const printed = (args: unknown, comment?: string): string =>
    yamlProgram({
      surface: "plugin",
      uses: new Set(),
      secrets: [],
      ids: [],
      resources: [{ type: "KvNamespace", name: "one", variable: undefined, args: codeOf(args), comment }],
      leftOut: [],
    });

  it.each(["1.1", "1.2"] as const)(
    "keeps any text and any name unchanged when read as YAML %s",
    (version) => {
      const texts = [
        "yes, no, on, null, ~, 1_000, 0x1f, 1:30, 2027-01-31, 1e3, 12e45678901234567890123456789012".split(
          ", ",
        ),
        [
          "",
          " ",
          "a: b # c",
          "- a",
          "{a}",
          "'a\"b",
          "a\\n",
          "x\ty",
          "tail \n",
          "\r\n",
          "lines\nof\n\n  text\n",
          "\u{1f600}",
        ],
        [
          "word ".repeat(60).trim(),
          `${"word ".repeat(30)}: # ${"word  ".repeat(30)}end`,
          `lines\n${"x".repeat(200)}`,
        ],
        ["\u0085\u2028\u202e\ufeff", "`<!-- fn::toJSON", "----", "@a", "%b", "!c", "&d", "*e"],
      ].flat();
      const members = Object.fromEntries(texts.map((text) => [`${text}key`, text]));
      const { resources } = parse(printed({ texts, members }), { version }) as {
        resources: { one: { properties: unknown } };
      };
      expect(resources.one.properties).toEqual({ texts, members });
    },
  );

  it("escapes only what Pulumi would read as a reference", () => {
    expect(printed({ a: "${b} $$ $c d$", "${e}": reference("zoneId", "0da4") })).toContain(
      "      a: $${b} $$$ $c d$\n      $${e}: ${zoneId}\n",
    );
  });

  it("prints comments that no text can break out of", () => {
    const text = printed({ a: "word" }, "first\nresources:");
    expect(text.match(/^ *resources:/gm)).toHaveLength(1);
  });
});

describe("the printed code", () => {
  it.each([
    ["gs://logs/http/{DATE}", 'destination.gs({ bucket: "logs", path: "http/{DATE}" })'],
    [
      "s3://logs/a%20b?region=us-east-1&sse=AES256&access-key-id=AK&secret-access-key=s%2Fs",
      'destination.s3({ bucket: "logs", path: "a b", region: "us-east-1", sse: "AES256", accessKeyId: config:access-key-id, secretAccessKey: config:secret-access-key })',
    ],
    [
      `r2://logs?access-key-id=****&account-id=${"a".repeat(32)}&secret-access-key=****`,
      `destination.r2({ bucket: "logs", accountId: "${"a".repeat(32)}", accessKeyId: hidden:access-key-id, secretAccessKey: hidden:secret-access-key })`,
    ],
    [
      "azure://acc.blob.core.windows.net/logs/http?sv=2022&sig=abc%2B",
      'destination.azure({ sasUrl: config:sas-url, path: "http" })',
    ],
    [
      "https://logs.example/in?header_Authorization=Bearer%20x&header_X-Tenant=7",
      'destination.https({ url: "https://logs.example/in", headers: { Authorization: config:authorization, "X-Tenant": config:x-tenant } })',
    ],
    ["https://logs.example/in?key=abc", "destination.https({ url: config:url })"],
    ["https://hooks.example/0123456789abcdef0123", "destination.https({ url: config:url })"],
    [
      "splunk://h.example:8088/services/collector/raw?channel=c&insecure-skip-verify=true&header_Authorization=Splunk%20t",
      'destination.splunk({ endpoint: "h.example:8088/services/collector/raw", channel: "c", token: config:token, insecureSkipVerify: true })',
    ],
    [
      "splunk://h.example/raw?channel=c&insecure-skip-verify=false&header_Authorization=****",
      'destination.splunk({ endpoint: "h.example/raw", channel: "c", token: hidden:token })',
    ],
    [
      "datadog://intake.example/v2/logs?header_DD-API-KEY=k&ddsource=cloudflare&service=edge",
      'destination.datadog({ endpoint: "intake.example/v2/logs", apiKey: config:api-key, service: "edge" })',
    ],
    ["sumo://e.example/receiver/v1/http/abc", "destination.sumo({ url: config:url })"],
    // What no builder covers stays text, secret as a whole.
    ["s3://logs?region=us-east-1&new-member=1", "config:destination"],
    ["kinesis://stream?region=us-east-1&sts-assume-role-arn=arn", "config:destination"],
  ])("has a destination for %s", (text, expected) => {
    const written = destinationCode(text, writing);
    const code = "destination" in written ? written.destination : written.destinationConf;
    expect(
      print(code)
        .replace(/config\.requireSecret\("([^"]+)"\)/g, "$1")
        .replace(/\s+/g, " ")
        .replace(/,? ([)}])/g, "$1"),
    ).toBe(expected.replace(/ ([)}])/g, "$1"));
    // The builder gives the same destination again.
    const again = typeof code.value === "string" ? code.value : typedDestination.parse(code.value);
    expect(isShownAs(again, text)).toBe(true);
    if (!text.includes("*")) expect(sameDestination(again, text)).toBe(true);
  });
});

describe("destinations without builders", () => {
  const plain: ArgumentWriter = { ...writing, hasBuilders: false };

  it.each([
    ["gs://logs/http/{DATE}", undefined, ""],
    [
      "s3://logs/a%20b?region=us-east-1&access-key-id=AKHUSH&secret-access-key=s%2Fs",
      true,
      "the whole destination: s3://logs/a%20b?region=us-east-1 access-key-id=… secret-access-key=…",
    ],
    [
      `r2://logs?access-key-id=****&account-id=${"a".repeat(32)}&secret-access-key=****`,
      false,
      `the whole destination: r2://logs?account-id=${"a".repeat(32)} access-key-id=… secret-access-key=…`,
    ],
    [
      "https://hooks.example/0123456789abcdef0123",
      true,
      "the whole destination: https://hooks.example/[secret]",
    ],
    ["kinesis://stream?region=us-east-1&sts-assume-role-arn=arn", true, "the whole destination"],
    // The older path of Datadog, with the API key.
    ["datadog://intake.example/v1/input/AKHUSH", true, "the whole destination"],
    ["splunk://intake.example/AKHUSH?channel=c", true, "the whole destination"],
  ])("are printed as text, or as one secret if they contain a credential: %s", (text, isShown, meaning) => {
    const secrets: unknown[] = [];
    const secret: ArgumentWriter["secret"] = (name, each) => {
      secrets.push({ name, ...each });
      return writing.secret(name, each);
    };
    expect(destinationCode(text, { ...plain, secret })).toMatchObject({ destinationConf: { value: text } });
    expect(secrets).toEqual(
      isShown === undefined ? [] : [{ name: "destination", value: text, isShown, meaning }],
    );
  });
});

describe("filters", () => {
  it("are printed as a document if builders aren't used, or as text if a document would change them", () => {
    const where = '{"where":{"key":"ClientRequestHost","operator":"eq","value":"a"}}';
    expect(print(filterCode(where, false))).toBe(
      'JSON.stringify({\n  where: {\n    key: "ClientRequestHost",\n    operator: "eq",\n    value: "a",\n  },\n})',
    );
    const spaced = where.replace(":", ": ");
    expect(filterCode(spaced, false)).toMatchObject({ value: spaced, form: { kind: "data" } });
  });

  it("are printed as objects for the classes, or as text if they aren't valid", () => {
    const where = { and: [{ key: "EdgeResponseStatus", operator: "in", value: [200, 201] }] };
    const code = filterCode(JSON.stringify({ where }), true);
    expect(code.value).toEqual({ where });
    expect(print(code)).toMatch(/^\{\n {2}where: \{\n {4}and: \[\n {6}\{\n {8}key: "EdgeResponseStatus",/);
    expect(print(filterCode('{"where":{"and":[]}}', true))).toBe(JSON.stringify('{"where":{"and":[]}}'));
  });
});
