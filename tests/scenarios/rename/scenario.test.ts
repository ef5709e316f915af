import { playScenario } from "../../support/scenario";

playScenario({
  title:
    "renaming or moving a resource without an alias keeps its object: the new resource adopts it, and the delete sends nothing",
  folder: __dirname,
  zone: "empty",
  steps: [
    {
      run: "up",
      changes: { create: 4 },
      writes: [
        "PUT /zones/{zone}/page_shield",
        "POST /zones/{zone}/page_shield/policies",
        "POST /zones/{zone}/rulesets",
        "POST /zones/{zone}/rulesets/{id}/rules",
      ],
    },
    // Adopting needs the object in the list. Before it's listed, the update would create another one and delete the old one.
    { advanceSeconds: 10 },
    {
      run: "up",
      program: "renamed",
      changes: { create: 3, delete: 3, unchanged: 1 },
      writes: ["PATCH /zones/{zone}/rulesets/{id}/rules/{id}"], // The rule gets the new name's ref.
      says: [
        /adopts the existing policy [0-9a-f]{32}/,
        /PageShieldPolicy [0-9a-f]{32} is kept/,
        /PageShieldSettings [0-9a-f]{32} is kept/,
        /ManagedRulesetOverride [0-9a-f]{32} is kept/,
      ],
    },
    { look: "/zones/{zone}/page_shield/policies/{policy:checkout}", result: { description: "checkout" } },
    { run: "preview", args: ["--expect-no-changes"], requests: 0 },
    { run: "up", program: "moved", changes: { create: 4, delete: 3, unchanged: 1 }, writes: [] },
    { run: "refresh", args: ["--expect-no-changes"] },
    { look: "/zones/{zone}/page_shield", result: { enabled: true } },
    { look: "/zones/{zone}/page_shield/policies/{policy:checkout}", result: { description: "checkout" } },
  ],
});
