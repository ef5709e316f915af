import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { LOCAL_ENGINE } from "edgeguard-local";
import { apiPerTest } from "../support/bench";
import { cliEngine, Project, REPOSITORY, summaryOf } from "../support/engine";
import { TOKEN } from "../support/scenario";
import { testUnless } from "../support/skip";
import { addJavaSdk, missingFor } from "./project";
import { isWrite } from "../support/is-write";

/** The provider plugin from Python, Go and Java: SDKs that Pulumi generates, installed as the documents say. */

const MODULES = join(REPOSITORY, "node_modules");
const PYTHON_EXAMPLE = join(REPOSITORY, "examples/python");

const CANARY = "c4nary-of-a-destination";
const DESTINATION = `https://logs.example.com/in?header_Authorization=Bearer%20${CANARY}`;

const api = apiPerTest();
let project: Project;

afterEach(() => project.remove());

function begin(name: string): void {
  project = new Project(cliEngine() ?? LOCAL_ENGINE, name);
}

async function configure(): Promise<void> {
  project.env = { CLOUDFLARE_API_TOKEN: TOKEN, CLOUDFLARE_ACCOUNT_ID: api.accounts.main };
  await project.init({ "edgeguard:baseUrl": api.url });
  await project.ok("config", "set", "zoneId", api.zones.shop);
  await project.ok("config", "set", "--secret", "destination", DESTINATION);
}

const writes = (): string[] => api.requests.filter(isWrite).map(({ method, path }) => `${method} ${path}`);

/** Applies a program, sees that its next preview is empty and writes nothing, and destroys what it made. */
async function play(created: number, between?: () => Promise<void>): Promise<void> {
  api.clearRequests();
  const preview = await project.ok("preview");
  expect(summaryOf(preview.text)).toEqual({ create: created });
  expect(writes()).toEqual([]);
  const up = await project.ok("up", "--yes", "--skip-preview");
  api.clearRequests();
  const unchanged = await project.ok("preview", "--expect-no-changes");
  expect(writes()).toEqual([]);
  await between?.();
  await project.ok("destroy", "--yes", "--skip-preview");
  expect((await project.export()).deployment.resources ?? []).toEqual([]);
  expect([preview, up, unchanged].filter(({ text }) => text.includes(CANARY))).toEqual([]);
}

describe("Python", () => {
  testUnless(missingFor("python", "python3"))(
    "runs the example, from its directory and as `main`, and a program with each argument that has several forms",
    async () => {
      begin("python"); // The example's own name.
      project.copy(PYTHON_EXAMPLE, MODULES);
      await configure();
      await project.ok("install");
      const python = (...args: string[]): string =>
        execFileSync(join(project.dir, "venv/bin/python"), args, { cwd: project.dir, encoding: "utf8" });
      python("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "mypy");
      expect(python("-m", "mypy", "--strict", "__main__.py")).toContain("no issues found");
      await play(5, async () => {
        // The paths of entries are relative to the program, wherever the engine is started.
        mkdirSync(join(project.dir, "program"));
        for (const file of ["__main__.py", "redirects.json"])
          renameSync(join(project.dir, file), join(project.dir, "program", file));
        appendFileSync(join(project.dir, "Pulumi.yaml"), "main: program\n");
        await project.ok("preview", "--expect-no-changes");
        expect(writes()).toEqual([]);
      });
      writeFileSync(join(project.dir, "program/__main__.py"), SEVERAL_FORMS);
      await play(7);
      writeFileSync(join(project.dir, "program/__main__.py"), COMPONENT);
      await project.ok("config", "set", "emptyZone", api.zones.empty);
      await play(7);

      writeFileSync(join(project.dir, "program/__main__.py"), FUNCTIONS);
      const token = { ...project.env };
      delete project.env["CLOUDFLARE_API_TOKEN"];
      const anonymous = await project.ok("preview");
      expect(anonymous.text).toContain("getScripts: skipped in this preview, so its result is empty.");
      project.env = token;

      // Pulumi's Python host also prints how it was stopped, if it wasn't done.
      writeFileSync(join(project.dir, "program/__main__.py"), BAD_RESOURCE);
      const { code, text } = await project.run("preview");
      expect(code).not.toBe(0);
      expect(text).toMatch(
        /\(checkout\):\n[^()]*resource 'checkout' has a problem: zoneId: "shop\.example" is not a zone ID/,
      );
    },
  );
});

describe("Go", () => {
  testUnless(missingFor("go", "go"))(
    "compiles, applies and destroys a program that uses the generated SDK",
    async () => {
      begin("languages");
      rmSync(project.dir, { recursive: true });
      mkdirSync(project.dir);
      symlinkSync(MODULES, join(project.dir, "node_modules"));
      copyFileSync(join(PYTHON_EXAMPLE, "redirects.json"), join(project.dir, "redirects.json"));
      writeFileSync(join(project.dir, "Pulumi.yaml"), "name: languages\nruntime: go\n");
      writeFileSync(join(project.dir, "go.mod"), "module languages\n\ngo 1.25\n");
      writeFileSync(join(project.dir, "main.go"), "package main\n\nfunc main() {}\n");
      await configure();
      await project.ok("package", "add", "./node_modules/pulumi-resource-edgeguard");
      writeFileSync(join(project.dir, "main.go"), GO_PROGRAM);
      const sdk = "github.com/pulumi/pulumi/sdk/v3@v3.260.0"; // The newest asks for the newest Go.
      for (const args of [
        ["get", sdk],
        ["mod", "tidy"],
        ["vet", "./..."],
      ])
        execFileSync("go", args, { cwd: project.dir, stdio: "pipe" });
      await project.ok("config", "set", "emptyZone", api.zones.empty);
      await play(12);
    },
    900_000,
  );
});

describe("Java", () => {
  testUnless(missingFor("java", "mvn"))(
    "compiles, applies and destroys a program that uses the generated SDK",
    async () => {
      begin("languages");
      copyFileSync(join(PYTHON_EXAMPLE, "redirects.json"), join(project.dir, "redirects.json"));
      await configure();
      await addJavaSdk(project);
      mkdirSync(join(project.dir, "src/main/java/example"));
      writeFileSync(join(project.dir, "src/main/java/example/App.java"), JAVA_PROGRAM);
      await project.ok("config", "set", "emptyZone", api.zones.empty);
      await play(12);
    },
    900_000,
  );
});

const FUNCTIONS = `import pulumi
import pulumi_edgeguard as edgeguard

zone_id = pulumi.Config().require("zoneId")
for script in edgeguard.get_scripts(zone_id=zone_id).items:
    print(script.url)
policies = edgeguard.get_page_shield_policies_output(zone_id=zone_id)
pulumi.export("policies", policies.result.apply(lambda all: [policy.id for policy in all]))
`;

const BAD_RESOURCE = `import pulumi_edgeguard as edgeguard

flags = edgeguard.KvNamespace("flags", title="flags")
edgeguard.PageShieldSettings("checkout", zone_id="shop.example", enabled=True)
edgeguard.KvEntries("entries", namespace_id=flags.id, entries={"a": "1"})
`;

const COMPONENT = `import pulumi
import pulumi_edgeguard as edgeguard

config = pulumi.Config()
edgeguard.ProtectedZone(
    "shop",
    zone_id=config.require("emptyZone"),
    page_shield_policy={"value": {"scriptSrc": ["'self'"]}},
    owasp_ruleset=edgeguard.ProtectedZoneManagedRulesetOverrideArgs(owasp={"paranoia_level": 2}),
    logpush_job={"destination_conf": config.require_secret("destination")},
)
`;

const SEVERAL_FORMS = `
import pulumi
import pulumi_edgeguard as edgeguard

zone_id = pulumi.Config().require("zoneId")

edgeguard.PageShieldPolicy(
    "policy", zone_id=zone_id, description="several forms", action=edgeguard.PageShieldPolicyAction.LOG,
    expression="true", value={"scriptSrc": ["'self'"], "upgradeInsecureRequests": True},
)
for name, position, skip in (
    ("by-words", "last", "all"),
    ("by-objects", {"after": "security-team/managed"}, {"rulesets": [{"name": "Cloudflare Managed Ruleset"}]}),
):
    override = edgeguard.ManagedRulesetOverride(
        name, zone_id=zone_id, position=position,
        ruleset={"name": "Cloudflare OWASP Core Ruleset"}, expression=f'http.host eq "{name}.example"',
        owasp=edgeguard.OwaspArgs(paranoia_level=2, score_threshold=40 if name == "by-words" else "high"),
        exceptions=[{"expression": 'http.request.uri.path eq "/a"', "skip": skip}],
    )
    pulumi.export(name, override.position)
namespace = edgeguard.KvNamespace("namespace", title="several forms")
edgeguard.KvEntries("entries", namespace_id=namespace.id, entries={
    "snake_case": "text", "object": {"value": "x", "metadata": {"snake_case": 1}, "expiration_ttl": 300},
})
edgeguard.LogpushJob(
    "job", zone_id=zone_id, dataset="http_requests", destination_conf="https://logs.example.com/in",
    output_options={"field_names": ["RayID"], "sample_rate": 0.5},
)
`;

const GO_PROGRAM = `
package main

import (
	"github.com/pulumi-edgeguard/pulumi-edgeguard/sdk/go/edgeguard"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		settings := config.New(ctx, "")
		zone := settings.Require("zoneId")
		_, err := edgeguard.NewPageShieldPolicy(ctx, "checkout", &edgeguard.PageShieldPolicyArgs{
			ZoneId:      pulumi.String(zone),
			Description: pulumi.String("From Go"),
			Action:      edgeguard.PageShieldPolicyActionLog,
			Expression:  pulumi.String("true"),
			Value:       pulumi.String("script-src 'self'"),
		})
		if err != nil {
			return err
		}
		_, err = edgeguard.NewLogpushJob(ctx, "errors", &edgeguard.LogpushJobArgs{
			ZoneId:          pulumi.String(zone),
			Dataset:         pulumi.String("http_requests"),
			DestinationConf: settings.RequireSecret("destination"),
			Filter:          pulumi.String(\`{"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}\`),
			OutputOptions: edgeguard.OutputOptionsArgs{
				FieldNames: pulumi.ToStringArray([]string{"RayID", "EdgeResponseStatus"}),
			},
		})
		if err != nil {
			return err
		}
		_, err = edgeguard.NewManagedRulesetOverride(ctx, "owasp", &edgeguard.ManagedRulesetOverrideArgs{
			ZoneId:   pulumi.String(zone),
			Ruleset:  pulumi.String("Cloudflare OWASP Core Ruleset"),
			Position: edgeguard.ManagedRulesetOverridePositionArgs{After: pulumi.String("security-team/managed")},
			Owasp:    edgeguard.OwaspArgs{ParanoiaLevel: pulumi.Int(2), ScoreThreshold: pulumi.Int(40)},
			Exceptions: edgeguard.ExceptionArray{edgeguard.ExceptionArgs{
				Expression: pulumi.String(\`http.request.uri.path eq "/a"\`),
				Skip:       edgeguard.ExceptionSkipArgs{Rulesets: pulumi.Array{pulumi.String("Cloudflare OWASP Core Ruleset")}},
			}},
		})
		if err != nil {
			return err
		}
		namespace, err := edgeguard.NewKvNamespace(ctx, "redirects", &edgeguard.KvNamespaceArgs{Title: pulumi.String("From Go")})
		if err != nil {
			return err
		}
		_, err = edgeguard.NewKvEntries(ctx, "entries", &edgeguard.KvEntriesArgs{
			NamespaceId: namespace.ID(),
			File:        pulumi.String("redirects.json"),
		})
		if err != nil {
			return err
		}
		_, err = edgeguard.NewProtectedZone(ctx, "empty", &edgeguard.ProtectedZoneArgs{
			ZoneId:       pulumi.String(settings.Require("emptyZone")),
			OwaspRuleset: &edgeguard.ProtectedZoneManagedRulesetOverrideArgs{Enabled: pulumi.Bool(false)},
			LogpushJob:   &edgeguard.ProtectedZoneLogpushJobArgs{DestinationConf: settings.RequireSecret("destination")},
		})
		if err != nil {
			return err
		}
		rules, err := edgeguard.GetZoneManagedRules(ctx, &edgeguard.GetZoneManagedRulesArgs{ZoneId: zone})
		if err != nil {
			return err
		}
		ctx.Export("has rules", pulumi.Bool(len(rules.Result.Rules) > 0))
		return nil
	})
}
`;

const JAVA_PROGRAM = `package example;

import com.pulumi.Context;
import com.pulumi.Pulumi;
import com.pulumi.core.Either;
import com.pulumi.edgeguard.*;
import com.pulumi.edgeguard.enums.*;
import com.pulumi.edgeguard.inputs.*;
import java.util.List;

public class App {
    public static void main(String[] args) {
        Pulumi.run(App::stack);
    }

    static void stack(Context ctx) {
        var settings = ctx.config();
        var zone = settings.require("zoneId");
        new PageShieldPolicy("checkout", PageShieldPolicyArgs.builder()
            .zoneId(zone)
            .description("From Java")
            .action(PageShieldPolicyAction.Log)
            .expression("true")
            .value("script-src 'self'")
            .build());
        new LogpushJob("errors", LogpushJobArgs.builder()
            .zoneId(zone)
            .dataset("http_requests")
            .destinationConf(settings.requireSecret("destination"))
            .filter("{\\"where\\":{\\"key\\":\\"EdgeResponseStatus\\",\\"operator\\":\\"geq\\",\\"value\\":500}}")
            .outputOptions(OutputOptionsArgs.builder().fieldNames(List.of("RayID", "EdgeResponseStatus")).build())
            .build());
        new ManagedRulesetOverride("owasp", ManagedRulesetOverrideArgs.builder()
            .zoneId(zone)
            .ruleset("Cloudflare OWASP Core Ruleset")
            .position(ManagedRulesetOverridePositionArgs.builder().after("security-team/managed").build())
            .owasp(OwaspArgs.builder().paranoiaLevel(2).scoreThreshold(40).build())
            .exceptions(ExceptionArgs.builder()
                .expression("http.request.uri.path eq \\"/a\\"")
                .skip(ExceptionSkipArgs.builder().rulesets(List.of(Either.ofLeft("Cloudflare OWASP Core Ruleset"))).build())
                .build())
            .build());
        var namespace = new KvNamespace("redirects", KvNamespaceArgs.builder().title("From Java").build());
        new KvEntries("entries", KvEntriesArgs.builder().namespaceId(namespace.id()).file("redirects.json").build());
        new ProtectedZone("empty", ProtectedZoneArgs.builder()
            .zoneId(settings.require("emptyZone"))
            .owaspRuleset(ProtectedZoneManagedRulesetOverrideArgs.builder().enabled(false).build())
            .logpushJob(ProtectedZoneLogpushJobArgs.builder().destinationConf(settings.requireSecret("destination")).build())
            .build());
        var rules = EdgeguardFunctions.getZoneManagedRules(GetZoneManagedRulesArgs.builder().zoneId(zone).build());
        ctx.export("has rules", rules.applyValue(of -> of.result().map(zoneRules -> !zoneRules.rules().isEmpty())));
    }
}
`;
