import { join } from "node:path";
import { playScenario } from "../../support/scenario";

const urn = (type: string, name: string): string =>
  `urn:pulumi:dev::scenario::pulumi-nodejs:dynamic/edgeguard:${type}::${name}`;

playScenario({
  title: "--target-replace keeps the object in Cloudflare",
  folder: join(__dirname, "../zone-change"),
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
        // A new policy isn't listed yet, so a second one is created before the first one is deleted.
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
