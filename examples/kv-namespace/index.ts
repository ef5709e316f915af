import { KvNamespace } from "pulumi-edgeguard";

// The account is the setting edgeguard:accountId, or CLOUDFLARE_ACCOUNT_ID.
const flags = new KvNamespace("flags", { title: "flags" });
const preview = new KvNamespace("flags-preview", { title: "flags", preview: true });

// What goes into the function's configuration file.
export const bindings = [flags.bindingSnippet("FLAGS"), preview.bindingSnippet("FLAGS")];
