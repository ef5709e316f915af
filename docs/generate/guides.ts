/** The guides in the order of the sidebar, by file name. */
export const GUIDES: readonly string[] = [
  "first-hour",
  "survey",
  "policy-from-detections",
  "script-inventory",
  "rules-logs-kv",
  "migrate-a-waf",
  "pipelines",
  "deployments",
  "many-zones",
  "policies",
  "testing",
  "state-and-secrets",
  "other-languages",
  "troubleshooting",
  "how-it-works",
  "coming-from-terraform",
  "differences-from-terraform",
];

/** Pages for Pulumi's Registry alone. `npm run api` writes their generated parts. */
export const REGISTRY_PAGES: readonly string[] = ["_index.md", "installation-configuration.md"];
