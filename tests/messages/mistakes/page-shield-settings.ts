import type { Mistake } from "./play";

export const PAGE_SHIELD_SETTINGS: readonly Mistake[] = [
  {
    title: "The zone's name instead of its ID",
    write: { zoneId: "shop.example" },
    instead: (api) => ({ zoneId: api.zones.empty }),
  },
  {
    title: "A zone ID with a digit missing",
    write: { zoneId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f" },
    instead: (api) => ({ zoneId: api.zones.empty }),
  },
  { title: "No zone ID", write: { zoneId: null }, instead: (api) => ({ zoneId: api.zones.empty }) },
  {
    title: "A zone that doesn't exist",
    write: { zoneId: "00000000000000000000000000000001" },
    instead: (api) => ({ zoneId: api.zones.empty }),
  },
  { title: "No `enabled`", write: { enabled: null }, instead: { enabled: true } },
  { title: "Text instead of a boolean", write: { enabled: "yes" }, instead: { enabled: true } },
  {
    title: "The API's name of a setting",
    write: { use_connection_url_path: true },
    instead: { useConnectionUrlPath: true },
  },
  {
    title: "A misspelled setting",
    write: { useConnectionUrlPaths: true },
    instead: { useConnectionUrlPath: true },
  },
  {
    title: "A word that `onDestroy` doesn't take",
    write: { onDestroy: "reset" },
    instead: { onDestroy: "restore" },
  },
  {
    title: "A plan without Page Shield",
    before: (api) =>
      api.fault({
        match: { path: "/page_shield" },
        kind: "status",
        status: 403,
        code: 10010,
        message: "not entitled: page_shield",
      }),
    fix: "Upgrade the zone's plan, or remove the resource.",
  },
];
