import { playScenario } from "../../support/scenario";

const urn = (type: string, name: string): string =>
  `urn:pulumi:dev::scenario::pulumi-nodejs:dynamic/edgeguard:${type}::${name}`;

playScenario({
  title: "a replacement that nothing asks for but the command line keeps the real object",
  folder: __dirname,
  zone: "empty",
  steps: [
    {
      run: "up",
      changes: { create: 3 },
      writes: ["PUT /zones/{zone}/page_shield", "POST /zones/{zone}/page_shield/policies"],
    },
    {
      run: "up",
      args: ["--target-replace", urn("PageShieldPolicy", "checkout")],
      changes: { replace: 1, unchanged: 2 },
      writes: [],
      says: [/is kept/],
      in: {
        // Of a policy that was made a moment ago nothing is seen yet: a second one protects before the first one goes.
        "listings 5 s late": {
          writes: [
            "POST /zones/{zone}/page_shield/policies",
            "DELETE /zones/{zone}/page_shield/policies/{id}",
          ],
          says: [],
        },
      },
    },
    { look: "/zones/{zone}/page_shield/policies/{policy:checkout}", result: { description: "checkout" } },
    {
      run: "up",
      args: ["--target-replace", urn("PageShieldSettings", "shop")],
      changes: { replace: 1, unchanged: 2 },
      writes: [],
      says: [/is kept/],
    },
    { look: "/zones/{zone}/page_shield", result: { enabled: true } },
    { run: "preview", args: ["--expect-no-changes"], requests: 0 },
  ],
});
