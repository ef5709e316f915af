import { playScenario } from "../../support/scenario";

const RULES = "/zones/{zone}/rulesets/{id}/rules";
const ENTRY_POINT = "/zones/{zone}/rulesets/phases/http_request_firewall_managed/entrypoint";

playScenario({
  title: "a zone's first deployment creates its entry point, which stays when the last one is destroyed",
  folder: __dirname,
  zone: "empty",
  steps: [
    {
      run: "up",
      changes: { create: 3 },
      writes: ["POST /zones/{zone}/rulesets", `POST ${RULES}`, `POST ${RULES}`],
    },
    {
      look: ENTRY_POINT,
      result: {
        name: "zone",
        kind: "zone",
        rules: [{ ref: "edgeguard/scenario/dev/managed" }, { ref: "edgeguard/scenario/dev/owasp" }],
      },
    },
    { run: "refresh", args: ["--expect-no-changes"], changes: { unchanged: 3 } },
    {
      run: "destroy",
      changes: { delete: 3 },
      writes: [`DELETE ${RULES}/{id}`, `DELETE ${RULES}/{id}`],
      says: ["now runs no managed ruleset"],
    },
    { look: ENTRY_POINT, result: { rules: [] } },
  ],
});
