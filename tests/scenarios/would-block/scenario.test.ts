import { playScenario } from "../../support/scenario";

playScenario({
  title: "the preview of an enforced policy shows what it would block",
  folder: __dirname,
  steps: [
    { run: "up", changes: { create: 2 }, writes: ["POST /zones/{zone}/page_shield/policies"] },
    {
      run: "preview",
      program: "enforced",
      args: ["--diff"],
      changes: { update: 1, unchanged: 1 },
      says: [/"log" => "allow"/, /wouldBlock/, /count\s*:/, /https:\/\//],
    },
    {
      run: "up",
      changes: { update: 1, unchanged: 1 },
      writes: ["PUT /zones/{zone}/page_shield/policies/{id}"],
    },
    { run: "preview", args: ["--expect-no-changes"], requests: 0 },
    { run: "refresh", args: ["--expect-no-changes"] },
    { run: "preview", args: ["--expect-no-changes"], requests: 0 },
  ],
});
