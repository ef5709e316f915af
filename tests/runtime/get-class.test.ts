import * as pulumi from "@pulumi/pulumi";
import * as edgeguard from "pulumi-edgeguard";

/** What the classes do with an existing object, in the program's process. */

const ZONE = "0da42c8d2132a9ddaf714f9e7c920711";
const ACCOUNT = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";
const OBJECT = "0123456789abcdef0123456789abcdef";

/** A composite ID of each type, and the resource's own ID in it. */
const IDS = {
  PageShieldSettings: [ZONE, ZONE],
  PageShieldPolicy: [`${ZONE}/${OBJECT}`, OBJECT],
  ManagedRulesetOverride: [`${ZONE}/${OBJECT}`, OBJECT],
  WafMigration: [ZONE, ZONE],
  LogpushJob: [`zone/${ZONE}/4711`, "4711"],
  LogpushTransformer: [`${ACCOUNT}/4711`, "4711"],
  KvNamespace: [`${ACCOUNT}/${OBJECT}`, OBJECT],
  KvEntries: [`${ACCOUNT}/${OBJECT}`, OBJECT],
} as const;
const TYPES = Object.keys(IDS) as (keyof typeof IDS)[];

interface ResourceClass {
  new (name: string, args: object, opts: object): pulumi.CustomResource;
  get(name: string, id: string, opts?: object): pulumi.CustomResource;
  isInstance(value: unknown): boolean;
}
const CLASSES = edgeguard as unknown as Readonly<Record<keyof typeof IDS, ResourceClass>>; // To try all alike.

let sent: pulumi.runtime.MockResourceArgs[];
beforeEach(async () => {
  sent = [];
  await pulumi.runtime.setMocks(
    {
      newResource: (args) => {
        sent.push(args);
        return { id: args.id, state: { ...(args.inputs as object), zoneId: ZONE } };
      },
      call: ({ inputs }) => inputs as Record<string, unknown>,
    },
    "site",
    "dev",
  );
});

const valueOf = <T>(output: pulumi.Output<T>): Promise<T> =>
  new Promise((done) => void output.apply((value) => done(value)));

test.each(TYPES)(
  "%s.get passes the engine the composite ID and no arguments, and its result has the bare ID",
  async (type) => {
    const [composite, own] = IDS[type];
    const found = CLASSES[type].get("existing", composite, { protect: true });
    expect(await valueOf(found.id)).toBe(own);
    expect(sent).toMatchObject([
      { name: "existing", id: composite, type: `pulumi-nodejs:dynamic/edgeguard:${type}` },
    ]);
    expect(Object.keys(sent[0]?.inputs as object).sort()).toEqual(["__provider", "__resourceName"]);
    expect(CLASSES[type].isInstance(found)).toBe(true);
  },
);

test("get returns an instance of the class, with arguments as outputs and an ID that other resources can use", async () => {
  const settings: edgeguard.PageShieldSettings = edgeguard.PageShieldSettings.get("settings", ZONE);
  expect(await valueOf(settings.zoneId)).toBe(ZONE);
  const namespace = edgeguard.KvNamespace.get("namespace", pulumi.output(`${ACCOUNT}/${OBJECT}`));
  expect(await valueOf(namespace.bindingSnippet("SHOP"))).toContain(`id = "${OBJECT}"`);
  new edgeguard.KvEntries("entries", { accountId: ACCOUNT, namespaceId: namespace.id, entries: { a: "1" } });
});

test("a program can read an object that it also declares", async () => {
  new edgeguard.PageShieldSettings("declared", { zoneId: ZONE, enabled: true });
  const found = [
    edgeguard.PageShieldSettings.get("one", ZONE),
    edgeguard.PageShieldSettings.get("two", ZONE),
  ];
  expect(await Promise.all(found.map(({ id }) => valueOf(id)))).toEqual([ZONE, ZONE]);
});

test.each(TYPES)("%s.get throws at once if the ID is malformed", (type) => {
  expect(() => CLASSES[type].get("existing", "shop.example")).toThrow(
    new RegExp(
      `^edgeguard: ${type}\\.get\\("existing"\\): "shop\\.example" is not "[^"]*<(zone|account) ID>`,
    ),
  );
  expect(sent).toEqual([]);
});

const COMMANDS = {
  PageShieldSettings: "edgeguard import --only page-shield",
  PageShieldPolicy: "edgeguard import --only page-shield",
  ManagedRulesetOverride: "edgeguard import --only rulesets",
  LogpushJob: "edgeguard import --only logpush",
  LogpushTransformer: "edgeguard import --only logpush",
  KvNamespace: "edgeguard import --only kv",
  KvEntries: "edgeguard import --only kv --with-values",
} as const;

describe("refuses the import option and names the command to use", () => {
  const refusalOf = (type: keyof typeof IDS, args: object, id: string): unknown => {
    try {
      return new CLASSES[type]("one", args, { import: id });
    } catch (error) {
      return error instanceof Error ? error.message : error;
    }
  };

  test.each(Object.entries(COMMANDS))("%s suggests %s", (type, command) => {
    const name = type as keyof typeof COMMANDS;
    expect(refusalOf(name, {}, IDS[name][0])).toBe(
      `edgeguard: ${type} "one": the import option can't import a dynamic resource: run \`${command}\` with --zone or --account, which writes the program and the file for \`pulumi import\`.`,
    );
    expect(sent).toEqual([]);
  });

  test("a migration needs no import", () => {
    expect(refusalOf("WafMigration", {}, ZONE)).toBe(
      "edgeguard: WafMigration \"one\": the import option can't import a dynamic resource: remove the option, and set target to the zone's current step, so that the update records the zone without sending anything.",
    );
  });
});
