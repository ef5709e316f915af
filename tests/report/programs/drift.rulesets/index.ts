import { ManagedRulesetOverride, type ManagedRulesetOverrideArgs } from "pulumi-edgeguard";

// A deployment for each way that someone can change it manually.
const zoneId = "5a0c1e7f3b2d4968a7e1c0f2d3b4a505";
const MANAGED = "efb7b8c949ac4650a09736fc376e9aee";
const OWASP = "4814384a9e5d4991b9815dcfc25d2f1f";
let number = 0;

function deploy(
  name: string,
  ruleset: string,
  args: Partial<ManagedRulesetOverrideArgs> = {},
): ManagedRulesetOverride {
  number += 1;
  const expression = `http.host eq "${number}.empty.example"`;
  return new ManagedRulesetOverride(name, {
    zoneId,
    ruleset: { id: ruleset },
    expression,
    ref: name,
    ...args,
  });
}

const unchanged = deploy("unchanged", MANAGED);
deploy("enabled", MANAGED);
deploy("expression", MANAGED);
deploy("description", MANAGED, { description: "vendor rules" });
deploy("version", MANAGED, { version: "latest" });
deploy("ruleset", MANAGED);
deploy("owasp", OWASP, { owasp: { paranoiaLevel: 2, scoreThreshold: "high", action: "managed_challenge" } });
deploy("categories", MANAGED, {
  categories: [
    { tag: "wordpress", enabled: false },
    { tag: "php", action: "log" },
  ],
});
deploy("rules", MANAGED, { rules: { "23ee7cebe6e8443e99ecf932ab579455": { action: "block" } } });
deploy("action", MANAGED);
deploy("exceptions", MANAGED, {
  exceptions: [
    { expression: 'http.request.uri.path eq "/a"', skip: "all" },
    { expression: 'http.request.uri.path eq "/b"', skip: "all" },
  ],
});
deploy("position", MANAGED, { position: { before: unchanged.ref } });
deploy("no-argument", OWASP, { owasp: { paranoiaLevel: 2 }, categories: [{ tag: "sqli", enabled: true }] });
deploy("gone", MANAGED);
