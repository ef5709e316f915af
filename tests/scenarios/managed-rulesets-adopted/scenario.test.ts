import { seededRules } from "edgeguard-local";
import { playScenario } from "../../support/scenario";

const RULE = "/zones/{zone}/rulesets/{id}/rules/{id}";
const ENTRY_POINT = "/zones/{zone}/rulesets/phases/http_request_firewall_managed/entrypoint";
const ID = seededRules.blog.owasp;

playScenario({
  title: "takeOver adopts a rule from the dashboard, and a destroy puts it back",
  folder: __dirname,
  zone: "blog",
  steps: [
    {
      run: "preview",
      code: "failure",
      says: [
        new RegExp(
          `Rule ${ID} .* but differs in owasp\\.paranoiaLevel: 4 → 2\\. To keep the rule's current settings, declare: owasp: { paranoiaLevel: 4 }\\. Set adopt: "takeOver" to change that rule`,
        ),
      ],
    },
    {
      run: "up",
      program: "take-over",
      changes: { create: 2 },
      writes: [`PATCH ${RULE}`],
      says: [
        new RegExp(`adopts the existing rule ${ID} in zone .* and changes owasp\\.paranoiaLevel: 4 → 2\\.`),
      ],
    },
    {
      look: ENTRY_POINT,
      result: { rules: [{ id: ID, ref: ID, action_parameters: { overrides: { categories: [{}, {}] } } }] },
    },
    { run: "destroy", changes: { delete: 2 }, writes: [`PATCH ${RULE}`] },
    {
      look: ENTRY_POINT,
      result: { rules: [{ id: ID, ref: ID, enabled: true, action_parameters: { version: "latest" } }] },
    },
  ],
});
