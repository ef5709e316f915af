import type { LocalApi } from "edgeguard-local";
import { rawSend } from "../../support/operation";
import type { Mistake } from "./play";

const path = (api: LocalApi): string => `/accounts/${api.accounts.main}/storage/kv/namespaces`;

async function namespaceWithKey(api: LocalApi, title: string): Promise<void> {
  const { id } = (await rawSend(api, "POST", path(api), { title }))["result"] as { id: string };
  await rawSend(api, "PUT", `${path(api)}/${id}/bulk`, [{ key: "theirs", value: "1" }]);
}

export const KV_NAMESPACE: readonly Mistake[] = [
  {
    title: "A title that's taken",
    before: (api) => namespaceWithKey(api, "catalog"),
    fix: 'If you renamed or moved the resource, add its old URN to `aliases`. Otherwise choose another title, or set `adopt: "takeOver"`.',
  },
  {
    title: "An empty namespace of that title, and adopting it is off",
    before: (api) => rawSend(api, "POST", path(api), { title: "catalog" }),
    write: { adopt: "never" },
    instead: { adopt: "ifEqual" },
  },
  {
    title: "An account that doesn't exist",
    write: { accountId: "00000000000000000000000000000002" },
    instead: (api) => ({ accountId: api.accounts.main }),
  },
  {
    title: "No account",
    write: { accountId: null },
    instead: (api) => ({ accountId: api.accounts.main }),
  },
  {
    title: "A token without the permission",
    before: (api) =>
      api.fault({ match: {}, kind: "status", status: 403, code: 10000, message: "Authentication error" }),
    fix: "Add the permission to the token, for the account that the message names.",
  },
  { title: "An empty title", write: { title: "" }, instead: { title: "catalog" } },
  { title: "No title", write: { title: null }, instead: { title: "catalog" } },
  {
    title: "A title of more than 512 characters",
    write: { title: "c".repeat(513) },
    instead: { title: "catalog" },
  },
  {
    title: "Text instead of a boolean for `preview`",
    write: { preview: "staging" },
    instead: { preview: true },
    fix: "`preview` says whether the namespace is the preview namespace of its title; it doesn't name one.",
  },
  { title: "A misspelled argument", write: { forceDestory: true }, instead: { forceDestroy: true } },
];
