import { playScenario } from "../../support/scenario";

const NAMESPACE = "/accounts/{account}/storage/kv/namespaces/5a0c1e7f3b2d4968a7e1c0f2d3b4b601";
const BULK = "/accounts/{account}/storage/kv/namespaces/{id}/bulk";

playScenario({
  title:
    "prune deletes keys that others wrote under a prefix, drift is repaired, and expired entries stay expired",
  folder: __dirname,
  config: { namespaceId: "5a0c1e7f3b2d4968a7e1c0f2d3b4b601" },
  steps: [
    {
      edit: `PUT ${NAMESPACE}/bulk`,
      body: [
        { key: "p/theirs", value: "x" },
        { key: "q/theirs", value: "y" },
      ],
    },
    {
      run: "preview",
      args: ["--diff"],
      changes: { create: 2 },
      says: [
        /prune deletes 1 key that others wrote: "p\/theirs"/,
        /1 of 4 entries has already expired. It counts as not declared/,
      ],
    },
    { run: "up", changes: { create: 2 }, writes: [`PUT ${BULK}`, `POST ${BULK}/delete`] },
    { look: `${NAMESPACE}/keys?prefix=p/`, result: [{ name: "p/a" }, { name: "p/b" }, { name: "p/brief" }] },
    // With prune, every preview lists the prefix.
    { run: "preview", args: ["--expect-no-changes"], requests: 1 },
    { run: "refresh", args: ["--expect-no-changes"] },
    { edit: `POST ${NAMESPACE}/bulk/delete`, body: ["p/a"] },
    { ageSeconds: 3_000 },
    { advanceSeconds: 200 }, // The entry with a TTL of 100 seconds has expired: that's not drift, and it isn't written again.
    { run: "refresh", changes: { update: 1, unchanged: 1 } },
    {
      run: "preview",
      args: ["--diff"],
      changes: { update: 1, unchanged: 1 },
      says: [/1 key missing: p\/a"/],
    },
    { run: "up", changes: { update: 1, unchanged: 1 }, writes: [`PUT ${BULK}`] },
    { look: `${NAMESPACE}/keys?prefix=p/`, result: [{ name: "p/a" }, { name: "p/b" }] },
    { run: "preview", args: ["--expect-no-changes"], requests: 1 },
    {
      run: "preview",
      program: "unmanaged-key",
      code: "failure",
      says: [
        /KvEntries own: 1 declared key already exists with different content \("q\/theirs"\)\. Nothing was written\./,
      ],
    },
    {
      run: "preview",
      program: "conflict",
      code: "failure",
      says: [
        /KvEntries "own" prunes the prefix "p\/" in namespace .*, so it would delete "p\/other", which KvEntries "other" declares/,
      ],
    },
    {
      run: "preview",
      program: "duplicate-key",
      code: "failure",
      says: [
        /KvEntries "(inline|bulk)" and "(inline|bulk)" both declare the key "b" in namespace .*\. Declare it in only one of them\./,
      ],
    },
    { run: "destroy", changes: { delete: 2 }, writes: [`POST ${BULK}/delete`] },
    { look: `${NAMESPACE}/keys?prefix=q/`, result: [{ name: "q/theirs" }] },
  ],
});
