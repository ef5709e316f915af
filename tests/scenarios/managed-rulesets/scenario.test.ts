import { seededEntryPoints, seededRules } from "edgeguard-local";
import { playScenario } from "../../support/scenario";

const RULES = "/zones/{zone}/rulesets/{id}/rules";
const ENTRY_POINT = "/zones/{zone}/rulesets/phases/http_request_firewall_managed/entrypoint";
const [POST, PATCH, DELETE] = [`POST ${RULES}`, `PATCH ${RULES}/{id}`, `DELETE ${RULES}/{id}`];

/** Other rules of the zone, whose IDs, versions and times must not change. */
const seeded = (id: string, version: string) => ({
  id,
  version,
  last_updated: "2026-08-20T14:05:11.204613Z",
});
const monitoring = seeded(seededRules.shop.monitoring, "1");
const managed = seeded(seededRules.shop.managed, "3");
const credentials = seeded(seededRules.shop.credentials, "1");

const OWN = "edgeguard/scenario/dev/waf";
const HOOK = 'http.request.uri.path eq "/payments/hook"';
const off = (level: number) => ({ category: `paranoia-level-${level}`, enabled: false });

playScenario({
  title:
    "a managed ruleset is deployed beside other rules, changed, repaired and destroyed, and the others don't change",
  folder: __dirname,
  steps: [
    {
      run: "preview",
      args: ["--diff"],
      changes: { create: 2 },
      says: [
        // Engines break these lines differently.
        /paranoiaLevel *: 2/,
        /levelsOff *: \[[\s+]*(\[0\]: )?"paranoia-level-3",?[\s+]*(\[1\]: )?"paranoia-level-4"[\s+]*\]/,
        /scoreThreshold *: 25/,
        /action *: "managed_challenge"/,
        /rules *: \{[\s+]*off *: 22,?[\s+]*on *: 146/,
      ],
    },
    { run: "up", changes: { create: 2 }, writes: [POST, POST, PATCH] },
    {
      look: ENTRY_POINT,
      result: {
        rules: [
          monitoring,
          managed,
          credentials,
          { ref: `${OWN}/exception/1`, action: "skip", expression: HOOK },
          {
            ref: OWN,
            enabled: true,
            action_parameters: {
              overrides: {
                categories: [off(3), off(4)],
                rules: [{ action: "managed_challenge", score_threshold: 25 }],
              },
            },
          },
        ],
      },
    },
    { run: "preview", args: ["--expect-no-changes"], changes: { unchanged: 2 }, requests: 0 },
    // Someone disables it in the dashboard, and all rules of a paranoia level with it.
    {
      edit: `PATCH /zones/{zone}/rulesets/${seededEntryPoints.shop}/rules/{rule:waf}`,
      body: {
        action: "execute",
        action_parameters: {
          id: "4814384a9e5d4991b9815dcfc25d2f1f",
          overrides: { categories: [off(2), off(3), off(4)] },
        },
        expression: "true",
        enabled: false,
        ref: OWN,
      },
    },
    { run: "refresh", changes: { update: 1, unchanged: 1 } },
    // The update that brings the next change also repairs the drift.
    {
      run: "up",
      program: "changed",
      changes: { update: 1, unchanged: 1 },
      writes: [POST, PATCH, PATCH, PATCH, PATCH],
    },
    {
      look: ENTRY_POINT,
      result: {
        rules: [
          monitoring,
          { ref: `${OWN}/exception/1`, expression: 'http.request.uri.path eq "/feed"' },
          { ref: `${OWN}/exception/2`, expression: HOOK },
          {
            ref: OWN,
            enabled: true,
            action_parameters: {
              overrides: {
                categories: [{ category: "evasion", enabled: false }, off(4)],
                rules: [{ score_threshold: 40 }],
              },
            },
          },
          managed,
          credentials,
        ],
      },
    },
    { run: "refresh", args: ["--expect-no-changes"], changes: { unchanged: 2 } },
    {
      run: "destroy",
      changes: { delete: 2 },
      writes: [DELETE, DELETE, DELETE],
      hides: ["runs no managed ruleset"],
    },
    { look: ENTRY_POINT, result: { rules: [monitoring, managed, credentials] } },
  ],
});
