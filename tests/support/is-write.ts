/** Whether a request may change something. Two kinds of POST only read. */
export const isWrite = ({ method, path }: { readonly method: string; readonly path: string }): boolean =>
  method !== "GET" && !/\/(bulk\/get|graphql)$/.test(path);
