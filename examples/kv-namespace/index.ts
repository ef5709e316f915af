import { KvNamespace } from "pulumi-edgeguard";

// The account comes from the setting edgeguard:accountId or from CLOUDFLARE_ACCOUNT_ID.
const flags = new KvNamespace("flags", { title: "flags" });
const preview = new KvNamespace("flags-preview", { title: "flags", preview: true });

// Paste these into the Worker's configuration file.
export const bindings = [flags.bindingSnippet("FLAGS"), preview.bindingSnippet("FLAGS")];
