import type { Mistake } from "./play";

export const WAF_MIGRATION: readonly Mistake[] = [
  {
    title: "A step without its confirmation",
    write: { target: "finished" },
    fix: 'Read the preview of `target: "assessed"`, then set `confirm` to the digest that it prints for this step.',
  },
  {
    title: "A confirmation of something else",
    write: { target: "finished", confirm: "0".repeat(64) },
    fix: "What was reviewed has changed. Read the preview again, and set `confirm` to the digest that it prints now.",
  },
  {
    title: "A confirmation that is cut short",
    write: { target: "finished", confirm: "0d8f6deb72ed" },
    fix: "Copy all 64 digits.",
  },
  {
    title: "A zone that is blocked",
    write: (api) => ({ zoneId: api.zones.migrateOverrides, target: "finished" }),
    fix: 'Do what each line of the message says, or stay at `target: "assessed"` until you can. [`migrationReadiness`](../functions/waf-migration.md#migrationreadiness) lists what blocks each of your zones.',
  },
  { title: "A target that doesn't exist", write: { target: "done" }, instead: { target: "assessed" } },
  { title: "No target", write: { target: null }, instead: { target: "assessed" } },
  {
    title: "Validation on a plan below Enterprise",
    write: { plan: "pro", target: "validation" },
    fix: 'Set `target: "finished"`, which goes there at once.',
  },
  { title: "A plan that doesn't exist", write: { plan: "free" }, instead: { plan: "pro" } },
  {
    title: "A timeout that isn't a number of seconds",
    write: { waitFor: { timeout: "30m" } },
    instead: { waitFor: { timeout: 1800 } },
  },
  {
    title: "An empty configuration",
    write: { configuration: [] },
    fix: "Leave `configuration` out, or list every rule to send; the output `proposedConfiguration` is a start.",
  },
  {
    title: "The zone's name instead of its ID",
    write: { zoneId: "shop.example" },
    instead: (api) => ({ zoneId: api.zones.migratePro }),
  },
  {
    title: "A token without the permission",
    before: (api) =>
      api.fault({
        match: { path: "/waf_migration" },
        kind: "status",
        status: 403,
        code: 10000,
        message: "Authentication error",
      }),
    fix: "Add the permission that the message names to the token.",
  },
];
