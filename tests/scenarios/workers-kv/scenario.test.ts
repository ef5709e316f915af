import { join } from "node:path";
import { playScenario } from "../../support/scenario";

const NAMESPACES = "/accounts/{account}/storage/kv/namespaces";
const BULK = `${NAMESPACES}/{id}/bulk`;

playScenario({
  title:
    "entries are declared inline, in a file and as a directory, updated by difference, and destroyed with their namespace",
  folder: __dirname,
  // Listings lag by a minute, as Cloudflare's may.
  api: { kvLagMs: { listing: 60_000 } },
  config: { file: join(__dirname, "data/products.json"), directory: join(__dirname, "data/pages") },
  steps: [
    {
      run: "preview",
      changes: { create: 5 },
      says: [/KvEntries inline: \+3 ~0 -0 \(\+a, \+b, \+c\)/],
      hides: ["canary-a"],
    },
    {
      run: "up",
      changes: { create: 5 },
      writes: [`POST ${NAMESPACES}`, `PUT ${BULK}`, `PUT ${BULK}`, `PUT ${BULK}`],
      hides: ["canary-a"],
      says: [/\[\[kv_namespaces\]\]/],
      in: { SDK: { says: [] } },
    },
    { run: "preview", args: ["--expect-no-changes"], requests: 0 },
    { run: "refresh", args: ["--expect-no-changes"] },
    {
      run: "preview",
      program: "changed",
      changes: { update: 1, unchanged: 4 },
      says: [/KvEntries inline: \+1 ~0 -1 \(/],
      hides: ["canary-a"],
    },
    { run: "up", changes: { update: 1, unchanged: 4 }, writes: [`PUT ${BULK}`, `POST ${BULK}/delete`] },
    {
      run: "up",
      program: "renamed",
      changes: { update: 1, unchanged: 4 },
      writes: [`PUT ${NAMESPACES}/{id}`],
    },
    {
      run: "up", // The keys match, although no listing shows it yet: nothing is written or deleted.
      program: "split",
      changes: { create: 2, delete: 1, unchanged: 4 },
      says: [/declared keys? already exists? with matching content/],
    },
    { run: "preview", args: ["--expect-no-changes"], requests: 0 },
    {
      run: "up", // Changes of file and directory are ignored; only another argument changes.
      program: "ignoring",
      changes: { update: 1, unchanged: 5 },
      says: [/KvEntries bulk: \+0 ~0 -0/],
    },
    { advanceSeconds: 60 }, // Until then, the listing has a key that an earlier update deleted.
    {
      run: "destroy",
      changes: { delete: 6 },
      writes: [
        `POST ${BULK}/delete`,
        `POST ${BULK}/delete`,
        `POST ${BULK}/delete`,
        `POST ${BULK}/delete`,
        `DELETE ${NAMESPACES}/{id}`,
      ],
    },
  ],
});
