import { apiPerFile } from "../support/bench";
import { z } from "zod";
import { kvEntries } from "../../provider/kv/kv-entries";
import { kvNamespace } from "../../provider/kv/kv-namespace";
import { logpushJob } from "../../provider/logpush/logpush-job";
import { logpushTransformer } from "../../provider/logpush/logpush-transformer";
import { managedRulesetOverride } from "../../provider/rulesets/managed-ruleset-override";
import { pageShieldPolicy } from "../../provider/page-shield/policy";
import { pageShieldSettings } from "../../provider/page-shield/settings";
import { wafMigration } from "../../provider/migration/waf-migration";
import { outputOptions } from "../../provider/logpush/output-options";
import { isObject, codeOf, type Declared } from "./program";
import { programsOf, SEEDS, generatorContext } from "./seeds";
import { catalogOf, createOthersObjects } from "./environment";

/** The soak test's programs, without an engine. */

const LIFECYCLES = [
  pageShieldSettings,
  pageShieldPolicy,
  managedRulesetOverride,
  wafMigration,
  logpushJob,
  logpushTransformer,
  kvNamespace,
  kvEntries,
].map(({ verbs }) => verbs.facts);

/** Set when a program is written: a migration's digest depends on the zone. */
const WRITTEN_LATER = ["WafMigration confirm"];

const api = apiPerFile();
const declared: Declared[] = [];
const texts: string[] = [];

beforeAll(async () => {
  const othersNamespaces = await createOthersObjects(api);
  const catalog = await catalogOf(api);
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    for (const program of programsOf(generatorContext(seed, api, catalog, othersNamespaces))) {
      declared.push(...program.resources);
      texts.push(codeOf(program));
    }
  }
});

it("generates programs with every argument of every resource, and every output option of a Logpush job", () => {
  const given = new Set(
    declared.flatMap(({ type, args }) => Object.keys(args).map((name) => `${type} ${name}`)),
  );
  const wanted = LIFECYCLES.flatMap(({ type, args }) =>
    Object.keys(args.shape).map((name) => `${type} ${name}`),
  );
  expect(wanted.filter((name) => !given.has(name) && !WRITTEN_LATER.includes(name))).toEqual([]);
  const options = new Set(
    declared.flatMap(({ args }) =>
      isObject(args["outputOptions"]) ? Object.keys(args["outputOptions"]) : [],
    ),
  );
  if (!(outputOptions instanceof z.ZodObject)) throw new Error("outputOptions has no members");
  expect(Object.keys(outputOptions.shape).filter((name) => !options.has(name))).toEqual([]);
});

it("generates different programs, of one to eight resources", () => {
  expect(new Set(texts).size).toBeGreaterThan(SEEDS * 1.9);
  expect(declared.length / texts.length).toBeGreaterThan(2);
});

it("generates the same programs for the same seed", async () => {
  const othersNamespaces = ["a"];
  const catalog = await catalogOf(api);
  const [once, again] = [1, 2].map(() =>
    programsOf(generatorContext(7, api, catalog, othersNamespaces)).map(codeOf),
  );
  expect(again).toEqual(once);
});
