import { coveredHosts } from "../../provider/page-shield/covered-hosts";

test.each<[string, string[] | undefined]>([
  ['http.host eq "www.Shop.example"', ["www.shop.example"]],
  ['(lower(http.host) == "a.example")', ["a.example"]],
  ['http.host in {"a.example" "b.example"}', ["a.example", "b.example"]],
  ['http.host eq "a.example" or http.host eq "b.example"', ["a.example", "b.example"]],
  ['http.host eq "a.example" and starts_with(http.request.uri.path, "/pay")', ["a.example"]],
  ['http.host in {"a.example" "b.example"} and http.host eq "b.example"', ["b.example"]],
  ["false", []],
  ['http.host in {"a.example"} and not http.host eq "a.example"', []],
  // May be pages of any host.
  ["true", undefined],
  ['http.host eq "a.example" or http.request.uri.path eq "/pay"', undefined],
  ['http.host ne "a.example"', undefined],
  ['not http.host eq "a.example"', undefined],
  ['http.host wildcard "*.example"', undefined],
  ['http.host eq "a.example" xor ssl', undefined],
  ['http.host eq "a.example', undefined],
])("%s covers only pages on %j", (expression, hosts) => {
  const covered = coveredHosts(expression);
  expect(covered && [...covered]).toEqual(hosts);
});
