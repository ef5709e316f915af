import { join } from "node:path";
import { playScenario } from "../../support/scenario";

playScenario({
  title: "a pull request from a fork previews without credentials, with one warning",
  folder: join(__dirname, "../lifecycle"),
  anonymous: true,
  steps: [
    {
      run: "preview",
      changes: { create: 3 },
      says: [/live checks skipped: no credentials are set/],
      requests: 0,
    },
    {
      run: "up",
      code: "failure",
      says: [/needs credentials, and none are set/, /edgeguard:apiToken/],
      requests: 0,
    },
  ],
});
