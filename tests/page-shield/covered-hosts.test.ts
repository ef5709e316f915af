import { coveredHosts, coversOnHost } from "../../provider/page-shield/covered-hosts";

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

const ON = 'http.host eq "a.example"';
const PAY = 'http.request.uri.path eq "/pay"';

test.each<[wider: string, narrower: string]>([
  [ON, "true"],
  ['lower(http.host) in {"a.example" "b.example"}', "true"],
  ['http.host ne "b.example"', "true"],
  [`${ON} or ${PAY}`, "true"],
  [`${ON} and ${PAY}`, `http.host in {"a.example" "b.example"} and ${PAY}`],
  [PAY, `http.host eq "b.example" or ${PAY}`],
  ["no expression", "no expression"],
])("%s covers on one host all that %s covers", (wider, narrower) => {
  expect(coversOnHost(wider, narrower, "A.example")).toBe(true);
});

test.each<[wider: string, narrower: string]>([
  [PAY, `${ON} or ${PAY}`],
  [`${ON} and ${PAY}`, ON],
  ['http.host ne "a.example"', "true"],
  ['http.host wildcard "a.*"', "true"],
  ['http.host eq "A.example"', "true"],
  ["false", 'http.host eq "A.example"'],
  ["no expression", "true"],
])("%s may cover less on one host than %s", (wider, narrower) => {
  expect(coversOnHost(wider, narrower, "a.example")).toBe(false);
});
