import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { managedRulesets, type LocalApi } from "edgeguard-local";
import { REGISTER } from "../../../provider/register";
import { HIDDEN } from "../../../provider/runtime/hidden";
import { isJsonObject, omit, type JsonObject } from "../../../provider/basics/json";
import { rawGet, rawSend, type Recorded } from "../../support/operation";
import type { ResourceName } from "../../support/permissions-markdown";
import { SAMPLES } from "../../support/samples";

/** Each argument that a program can make secret, with values that nothing else contains. */

export const OWN = "Zq7xKw2mVp9rTb4n";
export const CHANGED = "correct-horse-battery-staple";
/** In the same argument of objects that the program adopts, or that someone changed by hand. */
export const TWIN = "Bp6yRm8qDs2aEg7c";
/** In secrets of objects that the program doesn't declare. */
export const OTHERS = { destination: "Ld8sYc3hGf6jQe0w", metadata: "Uo5iHt1zXv0kWn4b" };
export const TEXTS = [OWN, CHANGED, TWIN, ...Object.values(OTHERS)];

export interface Row {
  readonly type: ResourceName;
  readonly argument: string;
  readonly args: JsonObject;
  /** The same resource with another value of the argument. */
  readonly changed: JsonObject;
  /** What no text shows, in whole. Of `TEXTS`, no part is shown either. */
  readonly canaries: readonly string[];
  /** Makes what the argument needs in the zone. */
  readonly before: () => Promise<void>;
  /** The ID by which it's imported. */
  readonly importId: (id: string) => string;
  /** Makes an object like the program's but for the argument, or changes the program's. */
  readonly twin: (made?: Recorded) => Promise<void>;
}

/** An argument's values: the program's, its next one, and that of the API's object. */
type Values = readonly [own: unknown, changed: unknown, twin: unknown];

const host = (canary: string): string => `http.host eq "${canary}.example"`;
const texts = (of: (canary: string) => unknown): Values => [of(OWN), of(CHANGED), of(TWIN)];
const same = (value: unknown): Values => [value, value, value];

/** Creates what rows refer to: files, and other objects with secrets. */
export async function prepare(api: LocalApi, folder: string): Promise<void> {
  const zone = `/zones/${api.zones.empty}`;
  await rawSend(api, "POST", `${zone}/logpush/jobs`, {
    name: "others",
    dataset: "http_requests",
    destination_conf: `https://other.example/in?header_Authorization=${OTHERS.destination}`,
    enabled: true,
  });
  const namespace = `/accounts/${api.accounts.main}/storage/kv/namespaces/${api.namespaces.existing}`;
  await rawSend(api, "PUT", `${namespace}/bulk`, [
    { key: "theirs", value: "theirs", metadata: { owner: OTHERS.metadata } },
  ]);
  for (const canary of [OWN, CHANGED]) {
    const entry = { value: `${canary}!`, metadata: { key: canary } };
    for (const [name, key] of [
      [canary, `key-${canary}`],
      [shownName(canary), "key"],
    ])
      writeFileSync(join(folder, `${name}.json`), JSON.stringify([{ key, ...entry }]));
    mkdirSync(join(folder, canary));
    writeFileSync(join(folder, canary, `key-${canary}`), `${canary}!`);
  }
}

/** Rules beside which the program's is placed. */
async function addNeighbors(api: LocalApi): Promise<void> {
  const rules = [OWN, CHANGED, TWIN].map((canary) => ({
    ref: `neighbor-${canary}`,
    action: "execute",
    action_parameters: { id: managedRulesets.free },
    expression: "ssl",
  }));
  const body = { name: "zone", kind: "zone", phase: "http_request_firewall_managed", rules };
  await rawSend(api, "POST", `/zones/${api.zones.empty}/rulesets`, body);
}

/** For a file's values and metadata, which are always secret. */
const NOT_MARKED = "that isn't marked";

/** The name of a file whose name and keys aren't secret. */
const shownName = (canary: string): string => `file-${TEXTS.indexOf(canary)}`;

interface Shape {
  readonly arguments: Readonly<Record<string, Values>>;
  /** What a row's argument needs beside it. */
  readonly beside?: Readonly<Record<string, JsonObject>>;
  readonly importId: Row["importId"];
  /** Makes or changes the object that the arguments describe. */
  readonly write: (args: JsonObject, made?: Recorded) => Promise<void>;
}

async function shapes(api: LocalApi, folder: string): Promise<Readonly<Record<ResourceName, Shape>>> {
  const { empty: zone } = api.zones;
  const { main: account } = api.accounts;
  const namespace = api.namespaces.existing;
  const managed = await rawGet(api, `/accounts/${account}/rulesets/${managedRulesets.managed}`);
  const [first, second] = (managed["result"] as { rules: { id: string }[] }).rules.map(({ id }) => id);
  const owasp = await rawGet(api, `/accounts/${account}/rulesets/${managedRulesets.owasp}`);
  const score = (owasp["result"] as { rules: { id: string }[] }).rules.at(-1)?.id;
  const file = (canary: string): string => join(folder, `${canary}.json`);
  const policies = `/zones/${zone}/page_shield/policies`;
  const rulesets = `/zones/${zone}/rulesets`;
  const kv = `/accounts/${account}/storage/kv/namespaces`;
  return {
    PageShieldSettings: {
      arguments: { zoneId: same(zone) },
      importId: () => zone,
      async write() {
        await rawSend(api, "PUT", `/zones/${zone}/page_shield`, { enabled: false });
      },
    },
    PageShieldPolicy: {
      arguments: {
        zoneId: same(zone),
        description: texts((canary) => `about ${canary}`),
        expression: texts(host),
        value: texts((canary) => `script-src https://${canary}.example`),
        extra: texts((canary) => ({ note: canary })),
      },
      importId: (id) => `${zone}/${id}`,
      async write({ description, expression, value, extra = {} }, made) {
        const body = { description, action: "log", expression, enabled: true, ...(extra as object) };
        const policy = { ...body, value: typeof value === "string" ? value : "script-src 'self'" };
        if (made === undefined) await rawSend(api, "POST", policies, policy);
        else await rawSend(api, "PUT", `${policies}/${made.id}`, policy);
      },
    },
    ManagedRulesetOverride: {
      arguments: {
        zoneId: same(zone),
        accountId: same(account),
        ruleset: [
          { name: "Cloudflare Managed Ruleset" },
          { name: "Cloudflare OWASP Core Ruleset" },
          { name: "Cloudflare OWASP Core Ruleset" },
        ],
        expression: texts(host),
        description: texts((canary) => `about ${canary}`),
        ref: texts((canary) => `rule-${canary}`),
        position: texts((canary) => ({ after: `neighbor-${canary}` })),
        owasp: [7_654_321, 7_654_322, 7_654_323].map((scoreThreshold) => ({
          paranoiaLevel: 1,
          scoreThreshold,
        })) as unknown as Values,
        categories: [
          [{ tag: "wordpress", action: "managed_challenge" }],
          [{ tag: "wordpress", enabled: false }],
          [{ tag: "wordpress", action: "log" }],
        ],
        rules: [first, second, second].map((id = "") => ({ [id]: { action: "log" } })) as unknown as Values,
        exceptions: texts((canary) => [
          { expression: host(canary), description: `about ${canary}`, skip: "all" },
        ]),
      },
      beside: { owasp: { ruleset: { id: managedRulesets.owasp } } },
      importId: (id) => `${zone}/${id}`,
      async write(args, made) {
        const { ref, ruleset = {}, expression = "true", description, exceptions, owasp, rules = {} } = args;
        const isOwasp = owasp !== undefined || JSON.stringify(ruleset).includes("OWASP");
        const overridden = Object.entries(rules as object).map(([id, each]) => ({ id, ...(each as object) }));
        const scored = isJsonObject(owasp) ? [{ id: score, score_threshold: owasp["scoreThreshold"] }] : [];
        const categories = Array.isArray(args["categories"])
          ? args["categories"].map(({ tag, ...rest }: JsonObject) => ({ category: tag, ...rest }))
          : [];
        const overrides = {
          ...(overridden.length + scored.length > 0 ? { rules: [...overridden, ...scored] } : {}),
          ...(categories.length > 0 ? { categories } : {}),
        };
        const phase = `${rulesets}/phases/http_request_firewall_managed/entrypoint`;
        const now = (await rawGet(api, phase))["result"] as { rules: JsonObject[] } | null;
        const others = (now?.rules ?? []).filter(
          ({ id, ref }) => id !== made?.id && !/\/exception\//.test(String(ref)),
        );
        const rule = omit({
          ref: made === undefined ? ref : made.outputs["ref"],
          description,
          expression,
          enabled: true,
          action: "execute",
          action_parameters: omit({
            id: isOwasp ? managedRulesets.owasp : managedRulesets.managed,
            overrides: Object.keys(overrides).length === 0 ? undefined : overrides,
          }),
        });
        const skips = Array.isArray(exceptions)
          ? exceptions.map(({ expression, description }: JsonObject, index) => ({
              ref: `${String(rule["ref"])}/exception/${index + 1}`,
              expression,
              description,
              action: "skip",
              action_parameters: { ruleset: "current" },
            }))
          : [];
        await rawSend(api, "PUT", phase, {
          rules: [
            ...[...others.map((each) => omit(each, ["version", "last_updated"])), ...skips],
            made === undefined ? rule : { ...rule, id: made.id },
          ],
        });
      },
    },
    WafMigration: {
      arguments: {
        zoneId: same(api.zones.migratePro),
        configuration: texts((canary) => [
          { action: "skip", expression: host(canary), actionParameters: { ruleset: "current" } },
        ]),
      },
      importId: () => api.zones.migratePro,
      write: async () => {},
    },
    LogpushJob: {
      arguments: {
        zoneId: same(zone),
        name: texts((canary) => `job-${canary}`),
        destinationConf: texts(
          (canary) => `https://user:${canary}@logs.example.com/in?header_Authorization=Bearer%20${canary}`,
        ),
        outputOptions: texts((canary) => ({ fieldNames: ["ClientIP"], recordPrefix: canary })),
        filter: texts(
          (canary) => `{"where":{"key":"ClientRequestHost","operator":"eq","value":"${canary}.example"}}`,
        ),
        maxUploadRecords: [765_432, 765_433, 765_434],
        extra: texts((canary) => ({ note: canary })),
      },
      importId: (id) => `zone/${zone}/${id}`,
      async write(args, made) {
        const { name, dataset, destinationConf, filter, maxUploadRecords, extra = {} } = args;
        const { fieldNames = ["ClientIP"], recordPrefix } = (args["outputOptions"] ?? {}) as JsonObject;
        const body = omit({
          destination_conf: destinationConf,
          filter,
          enabled: true,
          output_options: omit({ field_names: fieldNames, record_prefix: recordPrefix }),
          max_upload_records: maxUploadRecords,
          ...(extra as JsonObject),
        });
        const jobs = `/zones/${zone}/logpush/jobs`;
        if (made === undefined) await rawSend(api, "POST", jobs, { name, dataset, ...body });
        else await rawSend(api, "PUT", `${jobs}/${made.id}`, body);
      },
    },
    LogpushTransformer: {
      arguments: {
        accountId: same(account),
        name: texts((canary) => `transformer-${canary}`),
        description: texts((canary) => `about ${canary}`),
        code: texts((canary) => `SELECT RayID FROM http_requests WHERE ClientRequestHost = '${canary}'`),
      },
      importId: (id) => `${account}/${id}`,
      async write({ name, description, code }, made) {
        const transformers = `/accounts/${account}/logpush/transformers`;
        const body = omit({ name, description, code });
        if (made === undefined) await rawSend(api, "POST", transformers, body);
        else await rawSend(api, "PUT", `${transformers}/${made.id}`, body);
      },
    },
    KvNamespace: {
      arguments: { accountId: same(account), title: texts((canary) => `title ${canary}`) },
      importId: (id) => `${account}/${id}`,
      async write({ title }, made) {
        if (made !== undefined) await rawSend(api, "PUT", `${kv}/${made.id}`, { title });
        else for (const each of [OWN, TWIN]) await rawSend(api, "POST", kv, { title: `title ${each}` });
      },
    },
    KvEntries: {
      arguments: {
        accountId: same(account),
        namespaceId: same(namespace),
        entries: texts((canary) => ({
          a: { value: canary, metadata: { key: canary } },
          b: `{"password":"${canary}"}`,
        })),
        file: [file(OWN), file(CHANGED), file(TWIN)],
        [`file ${NOT_MARKED}`]: [OWN, CHANGED, TWIN].map((canary) =>
          file(shownName(canary)),
        ) as unknown as Values,
        directory: [OWN, CHANGED, TWIN].map((canary) => join(folder, canary)) as unknown as Values,
        defaults: texts((canary) => ({ metadata: { key: canary } })),
        prune: texts((canary) => ({ prefix: canary })),
      },
      beside: Object.fromEntries(
        ["file", `file ${NOT_MARKED}`, "directory"].map((each) => [each, { entries: undefined }]),
      ),
      importId: () => `${account}/${namespace}`,
      async write() {
        const metadata = { key: TWIN };
        const keys = ["a", "b", "product/kettle", "key", `key-${OWN}`, `${OWN}/theirs`];
        await rawSend(
          api,
          "PUT",
          `${kv}/${namespace}/bulk`,
          keys.map((key) => ({ key, value: TWIN, metadata })),
        );
      },
    },
  };
}

/** Whether the text is an ID, whose parts other IDs share. */
const isId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text);

/** The texts in a secret that only it has. */
function* canariesIn(value: unknown): Generator<string> {
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value);
    if (isId(text) || /^\d{6,}$/.test(text) || text.startsWith("Cloudflare ")) yield text;
  } else if (typeof value === "object" && value !== null)
    for (const [key, member] of Object.entries(value)) {
      if (isId(key) || member === "wordpress") yield isId(key) ? key : "wordpress";
      yield* canariesIn(member);
    }
}

/** Every argument of every type that can hold a text of one's own, as secret, one at a time. */
export async function rowsOf(api: LocalApi, folder: string): Promise<readonly Row[]> {
  const all = Object.entries(await shapes(api, folder)) as [ResourceName, Shape][];
  return all.flatMap(([type, { arguments: secrets, beside = {}, importId, write }]) => {
    const { args: sample } = SAMPLES[type](api);
    return Object.entries(secrets).map(([name, [own, changed, twin]]): Row => {
      const [argument = ""] = name.split(" ");
      const isAlways =
        name.endsWith(NOT_MARKED) || Object.hasOwn(REGISTER[type]?.facts.secret ?? {}, argument);
      const base = { ...sample, ...beside[name], ...(isAlways ? {} : { [HIDDEN.secrets]: [argument] }) };
      const withValue = (value: unknown): JsonObject => omit({ ...base, [argument]: value });
      const texts = JSON.stringify([own, changed, twin]);
      return {
        type,
        argument: name,
        args: withValue(own),
        changed: withValue(changed),
        canaries: [
          ...new Set([
            ...canariesIn([own, changed, twin]),
            ...TEXTS.filter((each) => texts.includes(each) || name.endsWith(NOT_MARKED)),
          ]),
        ],
        importId,
        before: argument === "position" ? () => addNeighbors(api) : () => Promise.resolve(),
        twin: (made) => write(withValue(twin), made),
      };
    });
  });
}
