import "./runtime/node-version";

export { KvEntries, type KvEntriesArgs, type KvEntryArgs } from "./resources/kv-entries";
export { KvNamespace, type KvNamespaceArgs } from "./resources/kv-namespace";
export { PageShieldPolicy, type PageShieldPolicyArgs, type WouldBlock } from "./resources/page-shield-policy";
export {
  PageShieldSettings,
  type PageShieldSettingsArgs,
  type PageShieldValues,
} from "./resources/page-shield-settings";
export * from "./lookups";
export * as limits from "./limits";
