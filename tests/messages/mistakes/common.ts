import { doubtfulConfig, unknownConfigKeys } from "../../../provider/runtime/settings";
import type { Mistake } from "./play";

/** What can go wrong with any resource: credentials, network, configuration. */
export const COMMON: readonly Mistake[] = [
  {
    title: "No credentials",
    config: { "edgeguard:apiToken": "" },
    fix: "Run `pulumi config set --secret edgeguard:apiToken`, or set `CLOUDFLARE_API_TOKEN`. A preview works without.",
    warns: true,
  },
  {
    title: "A token that is wrong, revoked or expired",
    before: (api) =>
      api.fault({ match: {}, kind: "status", status: 401, code: 1000, message: "Invalid API Token" }),
    fix: "Create a new token in the dashboard, under API Tokens, and set it again.",
  },
  {
    title: "A token without the permission",
    before: (api) =>
      api.fault({ match: {}, kind: "status", status: 403, code: 10000, message: "Authentication error" }),
    fix: "Add the permission that the message names to the token. See [permissions](permissions.md).",
  },
  {
    title: "A token with a line break",
    config: { "edgeguard:apiToken": "a-token\nof-two-lines" },
    fix: "Set the token again, without the line break.",
  },
  {
    title: "Cloudflare can't be reached",
    config: { "edgeguard:baseUrl": "http://127.0.0.1:9/v4", "edgeguard:maxRetries": "0" },
    fix: "Check the network and the proxy. The preview goes on; an update fails.",
    warns: true,
  },
  {
    title: "Cloudflare has trouble",
    before: (api) => api.fault({ match: {}, kind: "status", status: 503, times: 9 }),
    config: { "edgeguard:maxRetries": "0" },
    fix: "Run again later. See [Cloudflare's status](https://www.cloudflarestatus.com/).",
    warns: true,
  },
  {
    title: "A base URL without a version",
    config: { "edgeguard:baseUrl": "https://api.cloudflare.com" },
    fix: "Run `pulumi config rm edgeguard:baseUrl`; the default is right.",
  },
  {
    title: "A setting out of range",
    config: { "edgeguard:concurrency": "100" },
    fix: "Run `pulumi config set edgeguard:concurrency 8`.",
  },
  {
    title: "A token and a key",
    config: { "edgeguard:apiEmail": "me@shop.example", "edgeguard:apiKey": "a-key" },
    fix: "Keep the token: `pulumi config rm edgeguard:apiEmail` and `pulumi config rm edgeguard:apiKey`.",
  },
  {
    title: "A misspelled setting",
    says: () => unknownConfigKeys(["edgeguard:maxRetrys"]),
    fix: "Run the command of the message, and set the right name.",
    warns: true,
  },
  {
    title: "A token stored as plain text",
    says: () =>
      doubtfulConfig(
        { "edgeguard:apiToken": "a-token" },
        { project: "shop", isSecret: () => false, env: {} },
      ),
    fix: "Revoke the token: everyone who can read the repository has it. Set the new one with `--secret`.",
    warns: true,
  },
  {
    title: "A token in the project's own namespace",
    says: () =>
      doubtfulConfig({ "shop:apiToken": "a-token" }, { project: "shop", isSecret: () => true, env: {} }),
    fix: "Run the two commands of the message.",
    warns: true,
  },
];
