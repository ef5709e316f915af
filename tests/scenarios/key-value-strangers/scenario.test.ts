import { playScenario } from "../../support/scenario";

const NAMESPACE = "/accounts/{account}/storage/kv/namespaces/5a0c1e7f3b2d4968a7e1c0f2d3b4b601";
const BULK = "/accounts/{account}/storage/kv/namespaces/{id}/bulk";

playScenario({
  title:
    "keys of others are pruned under a prefix owned alone, lost keys are found and mended, what expired is left to rest",
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
        /1 of 4 entries have expired already and are not sent/,
      ],
    },
    { run: "up", changes: { create: 2 }, writes: [`PUT ${BULK}`, `POST ${BULK}/delete`] },
    { look: `${NAMESPACE}/keys?prefix=p/`, result: [{ name: "p/a" }, { name: "p/b" }, { name: "p/brief" }] },
    // The one request is the look at the prefix that prune asks for in every preview.
    { run: "preview", args: ["--expect-no-changes"], requests: 1 },
    { run: "refresh", args: ["--expect-no-changes"] },
    { edit: `POST ${NAMESPACE}/bulk/delete`, body: ["p/a"] },
    { ageSeconds: 3_000 },
    { advanceSeconds: 200 }, // The entry that lives for 100 seconds is gone: that is no drift, and it is not written again.
    { run: "refresh", changes: { update: 1, unchanged: 1 } },
    { run: "preview", args: ["--diff"], changes: { update: 1, unchanged: 1 }, says: [/1 key gone: p\/a"/] },
    { run: "up", changes: { update: 1, unchanged: 1 }, writes: [`PUT ${BULK}`] },
    { look: `${NAMESPACE}/keys?prefix=p/`, result: [{ name: "p/a" }, { name: "p/b" }] },
    { run: "preview", args: ["--expect-no-changes"], requests: 1 },
    {
      run: "preview",
      program: "joined",
      code: "failure",
      says: [
        /KvEntries own: 1 declared key exists already with other content \("q\/theirs"\)\. Nothing was written\./,
      ],
    },
    {
      run: "preview",
      program: "covered",
      code: "failure",
      says: [
        /KvEntries "own" prunes the prefix "p\/" of namespace .*, and KvEntries "other" declares "p\/other"/,
      ],
    },
    {
      run: "preview", // Of a namespace that has no id yet.
      program: "shared",
      code: "failure",
      says: [
        /KvEntries "inline" and "bulk" both declare the key "b" of one namespace: keep it in one of them\./,
      ],
    },
    { run: "destroy", changes: { delete: 2 }, writes: [`POST ${BULK}/delete`] },
    { look: `${NAMESPACE}/keys?prefix=q/`, result: [{ name: "q/theirs" }] },
  ],
});
