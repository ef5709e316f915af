import { rawSend } from "../../support/operation";
import type { Mistake } from "./play";

export const LOGPUSH_TRANSFORMER: readonly Mistake[] = [
  {
    title: "Code without a FROM clause",
    write: { code: "SELECT RayID" },
    instead: { code: "SELECT RayID FROM http_requests" },
  },
  {
    title: "Code that's too long",
    write: { code: `SELECT RayID FROM http_requests -- ${"x".repeat(32_768)}` },
    instead: { code: "SELECT RayID FROM http_requests" },
  },
  {
    title: "Another transformer of that name",
    before: (api) =>
      rawSend(api, "POST", `/accounts/${api.accounts.main}/logpush/transformers`, {
        name: "failed-requests",
        code: "SELECT ClientIP FROM http_requests",
      }),
    fix: 'If you renamed or moved the resource, add its old URN to `aliases`. Otherwise choose another name, or set `adopt: "takeOver"`.',
  },
  {
    title: "No account",
    write: { accountId: null },
    instead: (api) => ({ accountId: api.accounts.main }),
  },
];
