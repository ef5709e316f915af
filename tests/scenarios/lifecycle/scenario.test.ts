import { playScenario, type Step } from "../../support/scenario";
import { describeLong } from "../../support/long";

const SETTINGS = "/zones/{zone}/page_shield";
const POLICIES = `${SETTINGS}/policies`;

const steps = (reporting: string, enabled: (on: boolean) => string | boolean): readonly Step[] => [
  // The first update.
  {
    run: "preview",
    changes: { create: 3 },
    says: ["useConnectionUrlPath", "script-src 'self' js.payments.example"],
    args: ["--diff"],
  },
  { run: "up", changes: { create: 3 }, writes: [`PUT ${SETTINGS}`, `POST ${POLICIES}`] },
  { look: SETTINGS, result: { enabled: true, use_connection_url_path: true, [reporting]: true } },
  {
    look: "/zones/{zone}/page_shield/policies/{policy:checkout}",
    result: {
      enabled: enabled(true),
      value: "script-src 'self' js.payments.example; upgrade-insecure-requests",
    },
  },
  // No changes, and no requests to find that out.
  { run: "preview", args: ["--expect-no-changes"], changes: { unchanged: 3 }, requests: 0 },
  { run: "refresh", args: ["--expect-no-changes"], changes: { unchanged: 3 }, requests: 2 },
  { run: "preview", args: ["--expect-no-changes"], changes: { unchanged: 3 }, requests: 0 },
  { run: "up", args: ["--expect-no-changes"], changes: { unchanged: 3 }, requests: 0 },
  // Someone edits in the dashboard.
  { edit: `PUT ${SETTINGS}`, body: { enabled: false } },
  {
    edit: `PUT ${POLICIES}/{policy:checkout}`,
    body: {
      description: "checkout",
      action: "log",
      expression: 'http.host eq "checkout.shop.example"',
      enabled: enabled(false),
      value: "script-src *",
    },
  },
  { run: "refresh", changes: { update: 2, unchanged: 1 } },
  {
    run: "preview",
    args: ["--diff"],
    changes: { update: 2, unchanged: 1 },
    says: [/enabled\s*: false => true/, "script-src *"],
    requests: 2,
  },
  { run: "up", changes: { update: 2, unchanged: 1 }, writes: [`PUT ${SETTINGS}`, `PUT ${POLICIES}/{id}`] },
  { look: SETTINGS, result: { enabled: true } },
  { run: "preview", args: ["--expect-no-changes"], changes: { unchanged: 3 }, requests: 0 },
  // A removed argument goes back to its value from before it was first set.
  {
    run: "preview",
    program: "without-path",
    args: ["--diff"],
    changes: { update: 1, unchanged: 2 },
    says: [/-\s*useConnectionUrlPath/],
  },
  {
    run: "up",
    program: "without-path",
    changes: { update: 1, unchanged: 2 },
    writes: [`PUT ${SETTINGS}`],
  },
  { look: SETTINGS, result: { enabled: true, use_connection_url_path: false } },
  // The policy is deleted, the settings are restored.
  { run: "destroy", changes: { delete: 3 }, writes: [`PUT ${SETTINGS}`, `DELETE ${POLICIES}/{id}`] },
  { look: SETTINGS, result: { enabled: false, use_connection_url_path: false } },
];

playScenario({
  title: "a zone's Page Shield settings are declared, drift, are repaired and are restored (openapi dialect)",
  folder: __dirname,
  dialects: ["openapi"],
  zone: "empty",
  steps: steps("use_cloudflare_reporting_endpoint", (on) => on),
});

// Each product's own tests cover this dialect's requests and state without an engine.
describeLong("in the documented dialect", () => {
  playScenario({
    title:
      "a zone's Page Shield settings are declared, drift, are repaired and are restored (documented dialect)",
    folder: __dirname,
    zone: "empty",
    dialect: "documented",
    dialects: ["documented"],
    // The plans are the same in both dialects; requests and state differ.
    steps: steps("use_platform_reporting_endpoint", String).filter(
      (step) => !("run" in step && (step.run === "preview" || step.requests === 0)),
    ),
  });
});
