const { KvEntries, KvNamespace, PageShieldPolicy } = require("pulumi-edgeguard");

/** The program under test: what `index.ts` of a project would call. */
exports.declareShop = ({ zoneId, accountId, sources = ["'self'"] }) => {
  new PageShieldPolicy("shop", {
    zoneId,
    description: "Shop: only our own scripts",
    action: "log",
    expression: 'http.host eq "www.shop.example"',
    value: { scriptSrc: sources },
  });
  const flags = new KvNamespace("flags", { accountId, title: "flags" });
  new KvEntries("flags", { accountId, namespaceId: flags.id, entries: { "checkout/express": "on" } });
};
