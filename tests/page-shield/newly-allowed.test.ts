import { parseCsp } from "../../provider/page-shield/csp";
import { newlyAllowed } from "../../provider/page-shield/newly-allowed";

const found = (before: string, after: string): string[] =>
  newlyAllowed(parseCsp(before), parseCsp(after)).map(
    ({ directive, sources }) => `${directive}: ${sources?.join(" ") ?? "anything"}`,
  );

describe("a policy allows no more", () => {
  test.each([
    ["with the same sources in another order", "script-src a.example 'self'", "script-src 'self' a.example"],
    ["without a source", "script-src 'self' a.example", "script-src 'self'"],
    ["with 'none'", "script-src *", "script-src 'none'"],
    ["with a directive more", "script-src 'self'", "script-src 'self'; img-src *"],
    ["with a host that a wildcard covered", "script-src *.example", "script-src a.b.example"],
    ["with a host that a scheme covered", "script-src https:", "script-src https://a.example/x.js"],
    ["with a secure address in place of any", "script-src http://a.example", "script-src https://a.example"],
    ["with addresses that * covered", "script-src *", "script-src 'self' wss://a.example https:"],
    ["with a file of a folder", "script-src a.example/js/", "script-src a.example/js/x.js"],
    ["with a fallback that says the same", "script-src 'self'; default-src 'self'", "default-src 'self'"],
    ["without 'unsafe-inline'", "script-src 'self' 'unsafe-inline'", "script-src 'self'"],
    [
      "with 'unsafe-inline' that a hash disarms",
      "script-src 'sha256-A='",
      "script-src 'sha256-A=' 'unsafe-inline'",
    ],
    [
      "with a host that 'strict-dynamic' disarms",
      "script-src 'self' 'strict-dynamic'",
      "script-src 'self' 'strict-dynamic' a.example",
    ],
    [
      "with words that mean something for scripts alone, which another directive decides",
      "script-src 'self'; default-src 'self'",
      "script-src 'self'; default-src 'self' 'unsafe-eval'; img-src 'self' 'nonce-A'",
    ],
    [
      "with a fallback that it had not",
      "script-src 'self'; img-src *",
      "script-src 'self'; img-src *; default-src *",
    ],
    ["with less of 'unsafe-eval'", "script-src 'unsafe-eval'", "script-src 'wasm-unsafe-eval'"],
  ])("%s", (_, before, after) => {
    expect(found(before, after)).toEqual([]);
  });
});

describe("a policy allows more, or may,", () => {
  test.each([
    ["with a host", "script-src 'self'", "script-src 'self' a.example", "script-src: a.example"],
    [
      "with a host that 'strict-dynamic' disarms for scripts alone",
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
      "with a whole host for a folder",
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
      "without the hash that disarmed them",
      "script-src 'sha256-A=' 'unsafe-inline'",
      "script-src 'unsafe-inline'",
      "script-src: 'unsafe-inline'",
    ],
    ["with a hash", "script-src 'self'", "script-src 'self' 'sha256-A='", "script-src: 'sha256-A='"],
    [
      "with 'strict-dynamic'",
      "script-src 'nonce-A'",
      "script-src 'nonce-A' 'strict-dynamic'",
      "script-src: 'strict-dynamic'",
    ],
    [
      "without 'strict-dynamic', which disarmed addresses",
      "script-src 'nonce-A' 'strict-dynamic' https:",
      "script-src 'nonce-A' https:",
      "script-src: https:",
    ],
    [
      "with inline styles, which 'strict-dynamic' doesn't disarm",
      "style-src 'strict-dynamic'",
      "style-src 'strict-dynamic' 'unsafe-inline'",
      "style-src: 'unsafe-inline'",
    ],
    ["to fetch ahead", "default-src 'none'", "default-src 'none'; prefetch-src *", "prefetch-src: *"],
    ["in fenced frames", "frame-src 'none'", "frame-src 'none'; fenced-frame-src *", "fenced-frame-src: *"],
    ["without a directive", "script-src 'self'", "img-src 'self'", "script-src: anything"],
    ["with a wider fallback", "script-src 'self'; default-src *", "default-src *", "default-src: *"],
    [
      "for elements of their own",
      "script-src 'self'",
      "script-src 'self'; script-src-elem *",
      "script-src-elem: *",
    ],
    ["in a sandbox", "sandbox allow-forms", "sandbox allow-forms allow-scripts", "sandbox: allow-scripts"],
    [
      "when it no longer upgrades",
      "img-src *; upgrade-insecure-requests",
      "img-src *",
      "upgrade-insecure-requests: anything",
    ],
    ["when it reports elsewhere", "img-src *; report-to a", "img-src *; report-to b", "report-to: b"],
  ])("%s", (_, before, after, expected) => {
    expect(found(before, after)).toEqual([expected]);
  });
});

test("says which directives decided before", () => {
  const changes = newlyAllowed(
    parseCsp("script-src 'self'; img-src a.example; default-src 'none'"),
    parseCsp("default-src *; img-src a.example"),
  );
  expect(changes).toEqual([
    { directive: "default-src", before: ["script-src", "default-src"], sources: ["*"] },
  ]);
});

test("is found in long lists, too, from which every directive takes its sources", () => {
  const hosts = (from: number): string =>
    Array.from({ length: 3_000 }, (_, index) => `https://h${index + from}.example`).join(" ");
  expect(found(`default-src ${hosts(0)}`, `default-src ${hosts(1)}`)).toEqual([
    "default-src: https://h3000.example",
  ]);
});
