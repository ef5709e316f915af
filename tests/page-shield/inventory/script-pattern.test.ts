import {
  parsePattern,
  parseScriptUrl,
  PatternIndex,
} from "../../../provider/page-shield/inventory/script-pattern";

/** The script of the entry that decides about a URL, or undefined. */
function deciding(scripts: readonly string[], seen: string): string | undefined {
  const url = parseScriptUrl(seen);
  if (url === undefined) throw new Error(`${seen} isn't a URL`);
  return new PatternIndex(scripts.map((script) => ({ script, pattern: parsePattern(script) }))).find(url)
    ?.script;
}

describe("the inventory entry", () => {
  test.each([
    ["https://cdn.example.com/app.js", "https://cdn.example.com/app.js"],
    ["https://cdn.example.com/app.js", "HTTPS://CDN.Example.COM:443/app.js#top"],
    ["HTTPS://CDN.EXAMPLE.COM/app.js", "https://cdn.example.com/app.js"],
    ["https://cdn.example.com./app.js", "https://cdn.example.com/app.js"],
    ["https://cdn.example.com/app.js", "https://cdn.example.com./app.js"],
    ["https://cdn.example.com/%61pp.js", "https://cdn.example.com/app.js"],
    ["https://cdn.example.com/a%2fb.js", "https://cdn.example.com/a%2Fb.js"],
    ["https://cdn.example.com/a%2Ab.js", "https://cdn.example.com/a*b.js"],
    ["https://cdn.example.com/app.js?v=1&w=%7E", "https://cdn.example.com/app.js?v=1&w=~"],
    ["https://bücher.example/app.js", "https://xn--bcher-kva.example/app.js"],
    ["bücher.example", "https://xn--bcher-kva.example/app.js"],
    ["cdn.example.com", "https://cdn.example.com/any/path.js?x=1"],
    ["CDN.example.com.", "https://cdn.example.com/app.js"],
    ["cdn.example.com:8443", "https://cdn.example.com:8443/app.js"],
    ["*.example.com", "https://a.b.example.com/app.js"],
    ["https://cdn.example.com/*", "https://cdn.example.com/app.js"],
    ["https://cdn.example.com/lib/*", "https://cdn.example.com/lib/deep/app.js?v=2"],
    ["https://*.example.com/lib/*", "https://cdn.example.com/lib/app.js"],
    ["*.example.co.uk", "https://a.b.example.co.uk/app.js"],
    ["*.shop.github.io", "https://a.shop.github.io/app.js"],
    ["shop.s3.amazonaws.com", "https://shop.s3.amazonaws.com/app.js"],
    ["shop.b-cdn.net", "https://shop.b-cdn.net/app.js"],
    ["http://cdn.example.com/lib/*", "http://cdn.example.com/lib/app.js"],
    ["192.0.2.7", "https://192.0.2.7/app.js"],
    ["https://[2001:db8::1]/app.js", "https://[2001:DB8:0::1]/app.js"],
    ["blob:https://shop.example/1d3c", "blob:https://shop.example/1d3c"],
  ])("%s covers %s", (script, seen) => {
    expect(deciding([script], seen)).toBe(script);
  });
});

describe("the inventory entry", () => {
  test.each([
    ["cdn.example.com", "https://cdn.example.com.evil.test/app.js"],
    ["cdn.example.com", "https://cdn.example.com@evil.test/app.js"],
    ["cdn.example.com", "https://evil.test/cdn.example.com/app.js"],
    ["cdn.example.com", "https://evil.test\\@cdn.example.com/app.js"],
    ["cdn.example.com", "https://user:password@cdn.example.com/app.js"],
    ["cdn.example.com", "https://xcdn.example.com/app.js"],
    ["cdn.example.com", "https://a.cdn.example.com/app.js"],
    ["cdn.example.com", "http://cdn.example.com/app.js"],
    ["cdn.example.com", "https://cdn.example.com:8443/app.js"],
    ["cdn.example.com", "https://cdn.ехample.com/app.js"],
    ["*.example.com", "https://example.com/app.js"],
    ["*.example.com", "https://notexample.com/app.js"],
    ["*.example.com", "https://example.com.evil.test/app.js"],
    ["https://cdn.example.com/app.js", "https://cdn.example.com/App.js"],
    ["https://cdn.example.com/app.js", "https://cdn.example.com/app.js?v=1"],
    ["https://cdn.example.com/app.js", "https://cdn.example.com/app.js/"],
    ["https://cdn.example.com/tag.js?id=ours", "https://cdn.example.com/tag.js?id=theirs"],
    ["https://cdn.example.com/lib/*", "https://cdn.example.com/library/app.js"],
    ["https://cdn.example.com/lib/*", "https://cdn.example.com/lib/../evil.js"],
    ["https://cdn.example.com/lib/*", "https://cdn.example.com/lib/%2e%2e/evil.js"],
    ["https://cdn.example.com/lib/*", "https://cdn.example.com/lib/..%2Fevil.js"],
    ["https://cdn.example.com/lib/*", "https://cdn.example.com/lib/%252e%252e%252fevil.js"],
    ["https://cdn.example.com/lib/*", "https://cdn.example.com/lib/..%5Cevil.js"],
    ["https://cdn.example.com/lib/*", "https://cdn.example.com/lib/..;/evil.js"],
    ["https://*.example.com/lib/*", "https://evil.test/x.example.com/lib/app.js"],
  ])("%s doesn't cover %s", (script, seen) => {
    expect(deciding([script], seen)).toBeUndefined();
  });
});

test("the most specific inventory entry decides, regardless of the order in the file", () => {
  const scripts = [
    "*.example.com",
    "*.cdn.example.com",
    "a.cdn.example.com",
    "https://*.cdn.example.com/lib/*",
    "https://a.cdn.example.com/lib/*",
    "https://a.cdn.example.com/lib/v2/*",
    "https://a.cdn.example.com/lib/v2/app.js",
  ];
  const expected = {
    "https://a.cdn.example.com/lib/v2/app.js": "https://a.cdn.example.com/lib/v2/app.js",
    "https://a.cdn.example.com/lib/v2/b.js": "https://a.cdn.example.com/lib/v2/*",
    "https://a.cdn.example.com/lib/b.js": "https://a.cdn.example.com/lib/*",
    "https://b.cdn.example.com/lib/b.js": "https://*.cdn.example.com/lib/*",
    "https://a.cdn.example.com/b.js": "a.cdn.example.com",
    "https://b.cdn.example.com/b.js": "*.cdn.example.com",
    "https://www.example.com/b.js": "*.example.com",
  };
  for (const [url, script] of Object.entries(expected)) {
    expect([url, deciding(scripts, url)]).toEqual([url, script]);
    expect([url, deciding(scripts.toReversed(), url)]).toEqual([url, script]);
  }
});

test.each([
  ["", "is empty"],
  ["*", "covers every script"],
  ["*.", "is not a URL or host"],
  ["*.com", "covers a whole top-level domain"],
  ["com", "covers a whole top-level domain"],
  ["https://*.com/lib/*", "covers a whole top-level domain"],
  ["localhost", "covers a whole top-level domain or is incomplete"],
  ["*.co.uk", "covers everything below the public suffix co.uk"],
  ["co.uk", "covers everything below the public suffix co.uk"],
  ["*.cloudfront.net", "covers the sites of all customers of cloudfront.net"],
  ["*.github.io", "covers the sites of all customers of github.io"],
  ["*.PAGES.dev.", "covers the sites of all customers of pages.dev"],
  ["*.s3.amazonaws.com", "covers the sites of all customers of s3.amazonaws.com"],
  ["*.amazonaws.com", "may cover the sites of other customers of amazonaws.com: write the full host"],
  ["*.new-region-1.amazonaws.com", "may cover the sites of other customers of amazonaws.com"],
  ["https://*.amazonaws.com/lib/*", "may cover the sites of other customers of amazonaws.com"],
  ["*.core.windows.net", "may cover the sites of other customers of windows.net"],
  ["*.z13.web.core.windows.net", "may cover the sites of other customers of windows.net"],
  ["*.cloudapp.azure.com", "may cover the sites of other customers of azure.com"],
  ["*.storage.googleapis.com", "may cover the sites of other customers of googleapis.com"],
  ["*.b-cdn.net", "may cover the sites of other customers of b-cdn.net"],
  ["*.s3.us-west-002.backblazeb2.com", "may cover the sites of other customers of backblazeb2.com"],
  ["https://*/app.js", "has a * where it isn't allowed"],
  ["cdn*.example.com", "has a * where it isn't allowed"],
  ["cdn.*.example.com", "has a * where it isn't allowed"],
  ["*.*.example.com", "has a * where it isn't allowed"],
  ["https://cdn.example.com/*/app.js", "has a * where it isn't allowed"],
  ["https://cdn.example.com/app*", "has a * where it isn't allowed"],
  ["https://cdn.example.com/app.js?v=*", "has a * where it isn't allowed"],
  ["https://cdn.example.com/app.js?v=/*", "has a * where it isn't allowed"],
  ["%2A.com", "has a * where it isn't allowed"],
  ["%2a.co.uk", "has a * where it isn't allowed"],
  ["＊.com", "has a * where it isn't allowed"],
  ["https://＊.example.com/*", "has a * where it isn't allowed"],
  ["*.%2A.com", "has a * where it isn't allowed"],
  ["cdn.example.com/lib/*", "has no scheme"],
  ["cdn.example.com:8443/app.js", "has no scheme"],
  ["user@cdn.example.com", "has no scheme"],
  ["https://user:hunter2@cdn.example.com/a.js", "has a username"],
  ["https://@cdn.example.com/a.js", "has a username"],
  ["https://cdn.example.com/a.js#x", "has a fragment"],
  ["https://cdn.example.com/lib/../*", "has a . or .. segment"],
  ["https://cdn.example.com/lib/%2E%2e/a.js", "has a . or .. segment"],
  ["https://cdn.example.com/a b.js", "has a space, backslash or control character"],
  ["https:\\\\cdn.example.com\\a.js", "has a space, backslash or control character"],
  ["https:cdn.example.com/a.js", "is not a URL or host"],
  ["https://", "is not a URL or host"],
  ["https:///a.js", "is not a URL or host"],
  ["a..example.com", "has an empty label"],
  ["*.192.0.2.7", "has *. before an IP address"],
  ["blob:https://shop.example/*", "has a *, which is allowed only in https:// and http:// URLs"],
])("rejects the entry %j: %s", (script, reason) => {
  expect(() => parsePattern(script)).toThrow(reason);
  expect(() => parsePattern(script)).not.toThrow("hunter2");
});
