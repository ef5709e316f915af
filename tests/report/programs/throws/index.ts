import { KvNamespace } from "pulumi-edgeguard";

new KvNamespace("catalog", { title: "catalog" });
throw new Error("no zone is set\nset it with `pulumi config set zoneId`");
