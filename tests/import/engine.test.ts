import { spawn } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { BIN, ended } from "../cli/support";
import { edgeguardResources, engines, Project, REPOSITORY, summaryOf } from "../support/engine";
import { ImportDesk } from "./support";

/**
 * End to end: a zone and an account with every kind of object, the built command, the compiler, and an import with every
 * engine on this machine.
 */

/** Secrets in the stack's configuration. */
const SECRETS = {
  auditAuthorization: "Bearer hush-token-1",
  archiveAccessKeyId: "AKIDHUSH",
  archiveSecretAccessKey: "hush/secret",
};

const DECLARED = {
  PageShieldSettings: 1,
  PageShieldPolicy: 2,
  ManagedRulesetOverride: 3,
  LogpushJob: 4,
  KvNamespace: 3,
  KvEntries: 2,
};

const TOTAL = Object.values(DECLARED).reduce((sum, count) => sum + count, 0);

describe("importing existing objects into a stack", () => {
  let desk: ImportDesk;
  let summary: string;

  beforeAll(async () => {
    desk = (await ImportDesk.from()).withPackages();
    await seed(desk);
    const args = ["--zone", desk.zone, "--account", desk.account, "--with-values", "--out", desk.folder];
    const bin = spawn(process.execPath, [BIN, "import", ...args], { cwd: desk.folder, env: desk.env });
    const { code, stderr } = await ended(bin);
    summary = stderr;
    expect({ code, stderr }).toMatchObject({ code: 0 });
  });

  it("writes a formatted program that compiles in strict mode", async () => {
    expect(summary).toContain(
      Object.entries(DECLARED)
        .map((one) => one.join(" "))
        .join(", "),
    );
    expect(summary).not.toMatch(/isn't formatted|Not declared|Not imported/);
    expect(desk.read("index.ts")).toMatch(
      /owasp: \{\s+paranoiaLevel: 2,\s+scoreThreshold: "high",\s+action: "managed_challenge",\s+\}/,
    );

    const flags = "--noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --skipLibCheck";
    const options = ["--module", "node16", "--target", "es2022", "--types", "node"];
    const [tsc, prettier] = await Promise.all([
      tool("tsc", [...flags.split(" "), ...options, join(desk.folder, "index.ts")]),
      tool("prettier", ["--check", join(desk.folder, "index.ts")]),
    ]);
    expect(tsc).toEqual({ code: 0, text: "" });
    expect(prettier).toMatchObject({ code: 0 });
  });

  it.each(engines())(
    "leads to a preview without changes on $name, and keeps credentials encrypted in state",
    async (engine) => {
      const project = new Project(engine, "imported");
      try {
        for (const file of ["index.ts", "import.json", "kv"])
          cpSync(join(desk.folder, file), join(project.dir, file), { recursive: true });
        project.program(project.dir);
        project.env = { CLOUDFLARE_API_TOKEN: "local-token" };
        await project.init({ "edgeguard:baseUrl": desk.api.url, ...SECRETS });
        desk.api.clearRequests();
        const args = ["--yes", "--skip-preview", "--protect=false", "--generate-code=false"];
        const imported = await project.ok("import", "--file", "import.json", ...args);
        expect(summaryOf(imported.text)).toMatchObject({ import: TOTAL });
        const preview = await project.ok("preview", "--expect-no-changes");
        expect(summaryOf(preview.text)).toEqual({ unchanged: TOTAL + 1 });
        expect(desk.api.requests).toEqual([]); // Unchanged resources need no live checks.
        expect(preview.text).not.toContain("edgeguard:"); // Nor any warning.

        // The import file has credentials in plain text, the state must not.
        const state = JSON.stringify([...edgeguardResources(await project.export()).values()]);
        const seen = [...Object.values(SECRETS), "hush%2Fsecret", "Grüß Gott"];
        expect(seen.filter((secret) => state.includes(secret))).toEqual([]);
      } finally {
        project.remove();
      }
    },
    120_000,
  );
});

async function tool(name: string, args: readonly string[]): Promise<{ code: number | null; text: string }> {
  const { code, stdout, stderr } = await ended(spawn(join(REPOSITORY, "node_modules/.bin", name), args));
  return { code, text: stdout + stderr };
}

/** Adds objects to those that the local API starts with. */
async function seed(desk: ImportDesk): Promise<void> {
  await desk.send("POST", "/zones/{zone}/page_shield/policies", {
    description: "Shop: nothing else",
    action: "allow",
    expression: 'http.host eq "www.shop.example"',
    enabled: false,
    value: "upgrade-insecure-requests; script-src https://a.example/x.js 'self'",
  });

  const rulesets = (await desk.send("GET", "/accounts/{account}/rulesets")) as unknown as {
    id: string;
    name: string;
  }[];
  const owasp = rulesets.find(({ name }) => name.includes("OWASP"))?.id ?? "";
  const { rules } = (await desk.send("GET", `/accounts/{account}/rulesets/${owasp}`)) as {
    rules: { id: string }[];
  };
  const entryPoint = await desk.send(
    "GET",
    "/zones/{zone}/rulesets/phases/http_request_firewall_managed/entrypoint",
  );
  const off = (level: number): object => ({ category: `paranoia-level-${level}`, enabled: false });
  await desk.send("POST", `/zones/{zone}/rulesets/${String(entryPoint["id"])}/rules`, {
    action: "execute",
    action_parameters: {
      id: owasp,
      overrides: {
        categories: [off(3), off(4)],
        rules: [
          { id: rules.at(-1)?.id, action: "managed_challenge", score_threshold: 25 },
          { id: rules[0]?.id, enabled: false },
        ],
      },
    },
    expression: 'http.host eq "www.shop.example"',
    description: "OWASP, level 2",
    enabled: true,
  });

  const where = {
    and: [
      { key: "ClientRequestHost", operator: "eq", value: "www.shop.example" },
      {
        or: [
          { key: "EdgeResponseStatus", operator: "geq", value: "500" },
          { key: "EdgeResponseStatus", operator: "in", value: [403, 429] },
        ],
      },
    ],
  };
  await desk.job("audit", {
    destination_conf: "https://logs.shop.example/in?header_Authorization=Bearer%20hush-token-1",
    filter: JSON.stringify({ where }),
    output_options: { field_names: ["ClientIP", "RayID"], sample_rate: 0.5, "CVE-2021-44228": true },
    max_upload_records: 1000,
  });
  await desk.job("archive", {
    destination_conf: `r2://logs/http/{DATE}?account-id=${desk.account}&access-key-id=AKIDHUSH&secret-access-key=hush%2Fsecret`,
    enabled: false,
  });
  const accountJob = { dataset: "audit_logs", destination_conf: "https://logs.shop.example/of-the-account" };
  await desk.job("account", accountJob, "accounts/{account}");

  const namespaces = "/accounts/{account}/storage/kv/namespaces";
  const { id } = await desk.send("POST", namespaces, { title: "catalog" });
  await desk.send("POST", namespaces, { title: "catalog_preview" });
  await desk.send("PUT", `${namespaces}/${String(id)}/bulk`, [
    { key: "product/kettle", value: "19.90" },
    {
      key: "logo",
      value: Buffer.from([0xff, 0xfe, 0]).toString("base64"),
      base64: true,
      metadata: { type: "png" },
    },
    { key: "sale", value: "x", expiration: 4_102_444_800 },
  ]);
}
