/** What carries the commands out: everything that `--help` can do without. */
export * from "./bulk";
export * from "./key";
export { createNamespace, deleteNamespace, listNamespaces, renameNamespace } from "./namespace";
