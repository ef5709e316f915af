import { scriptSources, type SeenScript } from "pulumi-edgeguard";

const HOST = "www.shop.example";

function seen(...scripts: Partial<SeenScript>[]): SeenScript[] {
  return scripts.map((script) => ({ url: "", host: HOST, jsIntegrityScore: 90, ...script }));
}

const unscored = (url: string): SeenScript => ({ url, host: HOST });

/** Lines on stderr, where warnings go outside a Pulumi program. */
let warned: string[];
beforeEach(() => {
  warned = [];
  jest.spyOn(process.stderr, "write").mockImplementation((line) => warned.push(String(line)) > 0);
});
afterEach(() => jest.restoreAllMocks());

test("scriptSources returns each URL once, sorted and without its query", () => {
  const found = seen(
    { url: "https://b.example/b.js?id=2#top" },
    { url: "https://b.example/b.js?id=1" },
    { url: "https://a.example/a.js" },
  );
  expect(scriptSources(found)).toEqual({
    scriptSrc: ["https://a.example/a.js", "https://b.example/b.js"],
    leftOut: [],
  });
  expect(warned).toEqual([]);
});

test("scriptSources leaves out malicious and unscored scripts, and lists them with the reason", () => {
  const found = [
    { url: "https://z.example/edge.js", host: HOST, jsIntegrityScore: 50 },
    { url: "https://y.example/bad.js", host: HOST, jsIntegrityScore: 49 },
    unscored("https://x.example/new.js"),
  ];
  expect(scriptSources(found)).toEqual({
    scriptSrc: ["https://z.example/edge.js"],
    leftOut: [
      { url: "https://x.example/new.js", host: HOST, reason: "unscored" },
      { url: "https://y.example/bad.js", host: HOST, jsIntegrityScore: 49, reason: "suspicious" },
    ],
  });
  expect(warned).toEqual([
    "edgeguard: scriptSources: left out 2 scripts. An enforced policy will block them: " +
      "https://x.example/new.js (unscored), https://y.example/bad.js (suspicious, score 49).\n",
  ]);
  expect(scriptSources(found, { unscored: "include", threshold: 10 })).toEqual({
    scriptSrc: ["https://x.example/new.js", "https://y.example/bad.js", "https://z.example/edge.js"],
    leftOut: [],
  });
});

test("scriptSources warns if only 'self' remains, and names the first five scripts that it left out", () => {
  scriptSources(
    seen(...[1, 2, 3, 4, 5, 6].map((i) => ({ url: `https://a.example/${i}.js`, jsIntegrityScore: 1 }))),
  );
  expect(warned.join("")).toContain("https://a.example/5.js (malicious, score 1) and 1 more.");
  const alone = "so a policy with 'self' and this list allows only the site's own scripts.";
  expect(warned.join("")).toContain(`no source is left, ${alone}`);
  scriptSources(seen({ url: "https://a.example/a.js" }), { hosts: "ww.shop.example" });
  expect(warned.at(-1)).toContain(`there are no scripts seen on ww.shop.example, ${alone}`);
});

test("scriptSources leaves out scripts on a threat list, whatever their score", () => {
  const found = seen({ url: "https://a.example/a.js", domainReportedMalicious: true });
  expect(scriptSources(found)).toMatchObject({ scriptSrc: [], leftOut: [{ reason: "reported" }] });
});

test("scriptSources leaves out a script if the same URL with another query is left out", () => {
  const found = seen(
    { url: "https://a.example/tag.js?id=good" },
    { url: "https://a.example/tag.js?id=bad", jsIntegrityScore: 3 },
    { url: "https://a.example/other.js" },
  );
  expect(scriptSources(found)).toMatchObject({
    scriptSrc: ["https://a.example/other.js"],
    leftOut: [
      { url: "https://a.example/tag.js?id=bad", reason: "malicious" },
      { url: "https://a.example/tag.js?id=good", reason: "indistinct" },
    ],
  });
});

test("scriptSources leaves out a URL that ends in a slash if a script below it is left out", () => {
  const found = seen(
    { url: "https://a.example/" },
    { url: "https://a.example/deep/bad.js", jsIntegrityScore: 3 },
  );
  expect(scriptSources(found).scriptSrc).toEqual([]);
});

test("scriptSources with granularity host returns whole hosts, except hosts with a left-out script", () => {
  const found = seen(
    { url: "https://cdn.example/good.js" },
    { url: "https://cdn.example/bad.js", jsIntegrityScore: 3 },
    { url: "https://tags.example:8443/one.js?x=1" },
    { url: "https://tags.example:8443/two.js" },
  );
  expect(scriptSources(found, { granularity: "host" }).scriptSrc).toEqual([
    "https://cdn.example/good.js",
    "https://tags.example:8443",
  ]);
});

test("scriptSources uses only scripts seen on the given hosts, but considers malicious scripts on any host", () => {
  const found = seen(
    { url: "https://a.example/a.js" },
    { url: "https://b.example/b.js", host: "checkout.shop.example" },
    { url: "https://c.example/c.js?x", host: "checkout.shop.example" },
    { url: "https://c.example/c.js", jsIntegrityScore: 3 },
  );
  expect(scriptSources(found, { hosts: "checkout.shop.example" })).toEqual({
    scriptSrc: ["https://b.example/b.js"],
    leftOut: [
      {
        url: "https://c.example/c.js?x",
        host: "checkout.shop.example",
        jsIntegrityScore: 90,
        reason: "indistinct",
      },
    ],
  });
});

test("scriptSources encodes characters that would end a source, and leaves out scripts without a URL", () => {
  const found = seen(
    { url: "https://a.example/a;b,c'd e.js" },
    { url: "https://a.example/a;b.js", jsIntegrityScore: 3 },
    { url: "data:text/javascript,1" },
    { url: "inline" },
  );
  const sources = scriptSources(found);
  expect(sources.scriptSrc).toEqual(["https://a.example/a%3Bb%2Cc%27d%20e.js"]);
  expect(sources.leftOut.map(({ reason }) => reason)).toEqual([
    "unaddressable",
    "malicious",
    "unaddressable",
  ]);
});

test("scriptSources rejects invalid options and anything but a list of scripts", () => {
  expect(() => scriptSources(seen(), { unscored: "yes" })).toThrow(
    'scriptSources: unscored: must be "exclude" or "include", not "yes".',
  );
  expect(() => scriptSources(seen(), { threshold: Number.NaN })).toThrow("threshold must be a number");
  const ofFile = (text: string) => scriptSources(JSON.parse(text) as SeenScript[]);
  expect(() => ofFile('[{ "url": "https://a.example/a.js" }]')).toThrow(
    "scriptSources: scripts[0].host: is required and must be a string.",
  );
  expect(() => ofFile('{ "scripts": [] }')).toThrow("scriptSources: scripts: must be a list");
});
