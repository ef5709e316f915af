import { ManagedRulesetOverride, type ManagedRulesetOverrideArgs } from "pulumi-edgeguard";

// A deployment for each argument that can lower protection, by its path: as it is, and with WEAKER as it shouldn't become.
const empty = "5a0c1e7f3b2d4968a7e1c0f2d3b4a505";
const small = "5a0c1e7f3b2d4968a7e1c0f2d3b4a503";
const MANAGED = "efb7b8c949ac4650a09736fc376e9aee";
const OWASP = "4814384a9e5d4991b9815dcfc25d2f1f";
const RULE = "23ee7cebe6e8443e99ecf932ab579455";
const SCORE = "6179ae15870a4bb7b2d480d4843b323c";

type Args = Partial<ManagedRulesetOverrideArgs>;
let number = 0;

function deploy(argument: string, ruleset: string, strong: Args, weak: Args): void {
  number += 1;
  const expression = `http.host eq "${number}.empty.example"`;
  const args = process.env["WEAKER"] === undefined ? strong : weak;
  new ManagedRulesetOverride(argument, { zoneId: empty, ruleset: { id: ruleset }, expression, ...args });
}

deploy("zoneId", MANAGED, {}, { zoneId: small });
deploy("ruleset", MANAGED, {}, { ruleset: { name: "Cloudflare Managed Free Ruleset" } });
deploy("version", MANAGED, { version: "latest" }, { version: "87" });
deploy(
  "expression",
  MANAGED,
  {},
  { expression: 'http.host eq "4.empty.example" and not ip.src in {192.0.2.0/24}' },
);
deploy("enabled", MANAGED, {}, { enabled: false });
deploy("owasp.paranoiaLevel", OWASP, { owasp: { paranoiaLevel: 3 } }, { owasp: { paranoiaLevel: 1 } });
deploy(
  "owasp.scoreThreshold",
  OWASP,
  { owasp: { paranoiaLevel: 2, scoreThreshold: "medium" } },
  { owasp: { paranoiaLevel: 2, scoreThreshold: "low" } },
);
deploy(
  "owasp.action",
  OWASP,
  { owasp: { paranoiaLevel: 2, action: "block" } },
  { owasp: { paranoiaLevel: 2, action: "log" } },
);
deploy(
  "categories[].tag",
  MANAGED,
  { categories: [{ tag: "joomla", enabled: false }] },
  { categories: [{ tag: "wordpress", enabled: false }] },
);
deploy(
  "categories[].enabled",
  MANAGED,
  { categories: [{ tag: "java", enabled: true }] },
  { categories: [{ tag: "java", enabled: false }] },
);
deploy(
  "categories[].action",
  MANAGED,
  { categories: [{ tag: "sqli", action: "block" }] },
  { categories: [{ tag: "sqli", action: "managed_challenge" }] },
);
deploy(
  "rules{}.enabled",
  MANAGED,
  { rules: { [RULE]: { enabled: true } } },
  { rules: { [RULE]: { enabled: false } } },
);
deploy(
  "rules{}.action",
  MANAGED,
  { rules: { [RULE]: { action: "block" } } },
  { rules: { [RULE]: { action: "log" } } },
);
deploy(
  "rules{}.scoreThreshold",
  OWASP,
  { rules: { [SCORE]: { scoreThreshold: 25 } } },
  { rules: { [SCORE]: { scoreThreshold: 40 } } },
);
deploy("action", MANAGED, { action: "block" }, { action: "log" });
deploy(
  "exceptions[].expression",
  MANAGED,
  { exceptions: [{ expression: 'http.request.uri.path eq "/upload"', skip: "all" }] },
  { exceptions: [{ expression: "true", skip: "all" }] },
);
deploy(
  "exceptions[].skip",
  MANAGED,
  { exceptions: [{ expression: "ip.src in $partners", skip: { rules: { [MANAGED]: [RULE] } } }] },
  { exceptions: [{ expression: "ip.src in $partners", skip: { rulesets: [MANAGED, OWASP] } }] },
);
deploy("position", MANAGED, { position: "first" }, { position: "last" });
