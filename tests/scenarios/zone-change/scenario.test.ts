import { playScenario } from "../../support/scenario";

const OTHER_ZONE = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";

playScenario({
  title: "changing zoneId sets the new zone first, then restores the old one",
  folder: __dirname,
  zone: "empty",
  config: { otherZoneId: OTHER_ZONE },
  steps: [
    { edit: `PUT /zones/${OTHER_ZONE}/page_shield`, body: { enabled: false } },
    {
      run: "up",
      changes: { create: 3 },
      writes: ["PUT /zones/{zone}/page_shield", "POST /zones/{zone}/page_shield/policies"],
    },
    { run: "preview", program: "other", changes: { replace: 2, unchanged: 1 } },
    {
      run: "up",
      changes: { replace: 2, unchanged: 1 },
      writes: [
        `PUT /zones/${OTHER_ZONE}/page_shield`,
        `POST /zones/${OTHER_ZONE}/page_shield/policies`,
        "PUT /zones/{zone}/page_shield",
        "DELETE /zones/{zone}/page_shield/policies/{id}",
      ],
    },
    { look: "/zones/{zone}/page_shield", result: { enabled: false } },
    { look: `/zones/${OTHER_ZONE}/page_shield`, result: { enabled: true } },
  ],
});
