import { playScenario } from "../../support/scenario";

const OTHER_ZONE = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";

playScenario({
  title: "arguments that are unknown until the update pass the preview",
  folder: __dirname,
  zone: "empty",
  config: { otherZoneId: OTHER_ZONE },
  steps: [
    { run: "preview", changes: { create: 5 } },
    {
      run: "up",
      changes: { create: 5 },
      writes: [
        "PUT /zones/{zone}/page_shield",
        `PUT /zones/${OTHER_ZONE}/page_shield`,
        "POST /zones/{zone}/page_shield/policies",
        "POST /zones/{zone}/page_shield/policies",
      ],
    },
    { run: "preview", args: ["--expect-no-changes"], requests: 0 },
    {
      look: "/zones/{zone}/page_shield/policies/{policy:typed}",
      result: { value: "script-src 'self' cdn.example.com; img-src *; upgrade-insecure-requests" },
    },
    {
      run: "destroy",
      changes: { delete: 5 },
      writes: [
        "PUT /zones/{zone}/page_shield",
        `PUT /zones/${OTHER_ZONE}/page_shield`,
        "DELETE /zones/{zone}/page_shield/policies/{id}",
        "DELETE /zones/{zone}/page_shield/policies/{id}",
      ],
    },
  ],
});
