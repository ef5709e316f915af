import { rawSend } from "../../support/operation";
import type { Mistake } from "./play";

export const KV_ENTRIES: readonly Mistake[] = [
  {
    title: "A file that isn't JSON",
    files: { "catalog.json": '[\n  { "key": "a", "value": "1" }\n  { "key": "b" }\n]\n' },
    write: { entries: null, file: "catalog.json" },
    fix: "Put the comma after the first entry.",
  },
  {
    title: "A file that doesn't exist",
    write: { entries: null, file: "catalogue.json" },
    fix: "Paths are relative to the program's folder.",
  },
  {
    title: "An entry without a value",
    files: { "catalog.json": '[\n  { "key": "a" }\n]\n' },
    write: { entries: null, file: "catalog.json" },
    fix: "Give each entry a `value`.",
  },
  {
    title: "A key twice in a file",
    files: { "catalog.json": '[\n  { "key": "a", "value": "1" },\n  { "key": "a", "value": "2" }\n]\n' },
    write: { entries: null, file: "catalog.json" },
    fix: "Remove one of the two entries.",
  },
  {
    title: "A file and entries",
    files: { "catalog.json": "[]" },
    write: { file: "catalog.json", entries: { a: "1" } },
    instead: { entries: { a: "1" } },
  },
  {
    title: "Neither entries, file nor directory",
    write: { entries: null },
    instead: { entries: { a: "1" } },
  },
  {
    title: "A key with a space",
    write: { entries: { "product kettle": "1" } },
    instead: { entries: { "product/kettle": "1" } },
  },
  {
    title: "A key of more than 512 bytes",
    write: { entries: { ["k".repeat(513)]: "1" } },
    instead: { entries: { k: "1" } },
  },
  {
    title: "A TTL below 60 seconds",
    write: { entries: { a: { value: "1", expirationTtl: 30 } } },
    instead: { entries: { a: { value: "1", expirationTtl: 60 } } },
  },
  {
    title: "Metadata of more than 1,024 bytes",
    write: { entries: { a: { value: "1", metadata: { note: "x".repeat(1024) } } } },
    instead: { entries: { a: { value: "1", metadata: { note: "short" } } } },
    fix: "Keep a few short facts in the metadata, and the rest in the value.",
  },
  {
    title: "A number as a value",
    write: { entries: { a: 1 } },
    instead: { entries: { a: "1" } },
  },
  {
    title: "A key that exists with another value",
    before: (api) =>
      rawSend(
        api,
        "PUT",
        `/accounts/${api.accounts.main}/storage/kv/namespaces/${api.namespaces.existing}/bulk`,
        [{ key: "product/kettle", value: "theirs" }],
      ),
    instead: { adopt: "takeOver" },
  },
  {
    title: "More deletions than `maxOwnDeletes` allows",
    existing: { entries: { a: "1", b: "1", c: "1" }, maxOwnDeletes: 1 },
    write: { entries: { a: "1" }, maxOwnDeletes: 1 },
    instead: { entries: { a: "1" }, maxOwnDeletes: 2 },
  },
  {
    title: "A namespace that doesn't exist",
    write: { namespaceId: "00000000000000000000000000000003" },
    instead: (api) => ({ namespaceId: api.namespaces.existing }),
  },
  {
    title: "The namespace's title instead of its ID",
    write: { namespaceId: "catalog" },
    instead: (api) => ({ namespaceId: api.namespaces.existing }),
  },
];
