import { playScenario } from "../../support/scenario";

const RULES = "/zones/{zone}/rulesets/{id}/rules";
const ENTRY_POINT = "/zones/{zone}/rulesets/phases/http_request_firewall_managed/entrypoint";

playScenario({
  title:
    "a zone that never had a managed rule gets its entry point with the first, and keeps it when the last one goes",
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
        rules: [{ ref: "edgeguard/scenario/dev/vendor" }, { ref: "edgeguard/scenario/dev/owasp" }],
      },
    },
    { run: "refresh", args: ["--expect-no-changes"], changes: { unchanged: 3 } },
    {
      run: "destroy",
      changes: { delete: 3 },
      writes: [`DELETE ${RULES}/{id}`, `DELETE ${RULES}/{id}`],
      says: ["is left without a managed ruleset"],
    },
    { look: ENTRY_POINT, result: { rules: [] } },
  ],
});
