import { parseCsp } from "../../provider/page-shield/csp";
import { newlyAllowed } from "../../provider/page-shield/newly-allowed";

const changes = (before: string, after: string): string[] =>
  newlyAllowed(parseCsp(before), parseCsp(after)).map(
    ({ directive, sources }) => `${directive}: ${sources?.join(" ") ?? "anything"}`,
  );

test("compares thousands of sources", () => {
  const sources = (host: string): string =>
    Array.from({ length: 3_000 }, (_, at) => `${host}${at}.example`).join(" ");
  expect(
    newlyAllowed(parseCsp(`img-src ${sources("a")}`), parseCsp(`img-src ${sources("b")}`)),
  ).toMatchObject([{ directive: "img-src", sources: { length: 3_000 } }]);
});

describe("newlyAllowed for changes that allow nothing new", () => {
  test.each([
    ["with the same sources in another order", "script-src a.example 'self'", "script-src 'self' a.example"],
    ["without a source", "script-src 'self' a.example", "script-src 'self'"],
    ["with 'none'", "script-src *", "script-src 'none'"],
    ["with another directive", "script-src 'self'", "script-src 'self'; img-src *"],
    ["with a host that a wildcard covered", "script-src *.example", "script-src a.b.example"],
    ["with a host that a scheme covered", "script-src https:", "script-src https://a.example/x.js"],
    ["with the scheme's default port", "script-src https://a.example", "script-src https://a.example:443"],
    ["with https instead of http", "script-src http://a.example", "script-src https://a.example"],
    ["with a host without a scheme, on pages with TLS", "script-src https:", "script-src a.example"],
    ["with addresses that * covered", "script-src *", "script-src 'self' wss://a.example https:"],
    ["with a file in a folder that it allowed", "script-src a.example/js/", "script-src a.example/js/x.js"],
    ["with an equal fallback", "script-src 'self'; default-src 'self'", "default-src 'self'"],
    ["without 'unsafe-inline'", "script-src 'self' 'unsafe-inline'", "script-src 'self'"],
    [
      "with 'unsafe-inline' next to a hash",
      "script-src 'sha256-A='",
      "script-src 'sha256-A=' 'unsafe-inline'",
    ],
    [
      "with 'unsafe-inline' next to a nonce in the URL-safe alphabet",
      "script-src 'NONCE-a-B_9+/=='",
      "script-src 'NONCE-a-B_9+/==' 'unsafe-inline'",
    ],
    [
      "with a host next to 'strict-dynamic'",
      "script-src 'self' 'strict-dynamic'",
      "script-src 'self' 'strict-dynamic' a.example",
    ],
    [
      "with script keywords in a fallback that scripts don't use",
      "script-src 'self'; default-src 'self'",
      "script-src 'self'; default-src 'self' 'unsafe-eval'; img-src 'self' 'nonce-A'",
    ],
    ["with a new fallback", "script-src 'self'; img-src *", "script-src 'self'; img-src *; default-src *"],
    [
      "with 'wasm-unsafe-eval' instead of 'unsafe-eval'",
      "script-src 'unsafe-eval'",
      "script-src 'wasm-unsafe-eval'",
    ],
  ])("finds nothing: %s", (_, before, after) => {
    expect(changes(before, after)).toEqual([]);
  });
});

describe("newlyAllowed for changes that allow or may allow more", () => {
  test.each([
    ["with a host", "script-src 'self'", "script-src 'self' a.example", "script-src: a.example"],
    [
      "with a host that 'strict-dynamic' disables only for scripts",
      "default-src 'self' 'strict-dynamic'",
      "default-src 'self' 'strict-dynamic' a.example",
      "default-src: a.example",
    ],
    ["with a wildcard", "script-src a.example", "script-src *.example", "script-src: *.example"],
    ["with another port", "script-src a.example", "script-src a.example:8443", "script-src: a.example:8443"],
    ["with every port", "script-src https://*", "script-src https:", "script-src: https:"],
    [
      "with an insecure scheme",
      "script-src https://a.example",
      "script-src http://a.example",
      "script-src: http://a.example",
    ],
    ["with data:, which * doesn't cover", "script-src *", "script-src * data:", "script-src: data:"],
    [
      "with a whole host instead of a folder",
      "script-src a.example/js/",
      "script-src a.example",
      "script-src: a.example",
    ],
    [
      "with inline scripts",
      "script-src 'self'",
      "script-src 'self' 'unsafe-inline'",
      "script-src: 'unsafe-inline'",
    ],
    [
      "without the hash that disabled 'unsafe-inline'",
      "script-src 'sha256-A=' 'unsafe-inline'",
      "script-src 'unsafe-inline'",
      "script-src: 'unsafe-inline'",
    ],
    ["with a hash", "script-src 'self'", "script-src 'self' 'sha256-A='", "script-src: 'sha256-A='"],
    ...[
      "'nonce-{{x}}'",
      "'nonce-'",
      "'nonce-A",
      "'sha1-A='",
      "'sha256-'",
      "'sha256-A==='",
      "'sha256-=A'",
    ].map((source) => [
      `with 'unsafe-inline' next to ${source}, which browsers ignore`,
      `script-src 'self' ${source}`,
      `script-src 'self' ${source} 'unsafe-inline'`,
      "script-src: 'unsafe-inline'",
    ]),
    [
      "with 'strict-dynamic'",
      "script-src 'nonce-A'",
      "script-src 'nonce-A' 'strict-dynamic'",
      "script-src: 'strict-dynamic'",
    ],
    [
      "without 'strict-dynamic', which disabled addresses",
      "script-src 'nonce-A' 'strict-dynamic' https:",
      "script-src 'nonce-A' https:",
      "script-src: https:",
    ],
    [
      "with inline styles, which 'strict-dynamic' doesn't disable",
      "style-src 'strict-dynamic'",
      "style-src 'strict-dynamic' 'unsafe-inline'",
      "style-src: 'unsafe-inline'",
    ],
    ["with prefetching", "default-src 'none'", "default-src 'none'; prefetch-src *", "prefetch-src: *"],
    ["with fenced frames", "frame-src 'none'", "frame-src 'none'; fenced-frame-src *", "fenced-frame-src: *"],
    ["without a directive", "script-src 'self'", "img-src 'self'", "script-src: anything"],
    ["with a wider fallback", "script-src 'self'; default-src *", "default-src *", "default-src: *"],
    [
      "with a directive for script elements",
      "script-src 'self'",
      "script-src 'self'; script-src-elem *",
      "script-src-elem: *",
    ],
    [
      "with another sandbox permission",
      "sandbox allow-forms",
      "sandbox allow-forms allow-scripts",
      "sandbox: allow-scripts",
    ],
    [
      "without upgrades to HTTPS",
      "img-src *; upgrade-insecure-requests",
      "img-src *",
      "upgrade-insecure-requests: anything",
    ],
    ["with another report destination", "img-src *; report-to a", "img-src *; report-to b", "report-to: b"],
  ])("finds what's new: %s", (_, before, after, expected) => {
    expect(changes(before, after)).toEqual([expected]);
  });
});

test("newlyAllowed reports which directives applied before the change", () => {
  const allowed = newlyAllowed(
    parseCsp("script-src 'self'; img-src a.example; default-src 'none'"),
    parseCsp("default-src *; img-src a.example"),
  );
  expect(allowed).toEqual([
    { directive: "default-src", before: ["script-src", "default-src"], sources: ["*"] },
  ]);
});

test("newlyAllowed finds one new source when every directive falls back to a list of 3,000 sources", () => {
  const hosts = (from: number): string =>
    Array.from({ length: 3_000 }, (_, index) => `https://h${index + from}.example`).join(" ");
  expect(changes(`default-src ${hosts(0)}`, `default-src ${hosts(1)}`)).toEqual([
    "default-src: https://h3000.example",
  ]);
});
