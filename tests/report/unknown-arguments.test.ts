import { report } from "../../provider/report";
import { argumentsOf } from "../../provider/report/effects";
import type { JsonObject } from "../../provider/basics/json";
import { apiPerFile } from "../support/bench";
import { Operation, UNKNOWN } from "../support/operation";
import { planJson, stepOf } from "./plans";

/**
 * An update to a value that the preview doesn't know is a danger, unless the argument can't weaken anything, and says that
 * accepting it accepts any value.
 */

const sayAny = (name: string): RegExp => new RegExp(`; accepting this accepts any value of .*${name}`);

const api = apiPerFile();

/** Arguments of which an unknown value is no danger. A later destroy reports what `forceDestroy` loses. */
const HARMLESS: Readonly<Record<string, string>> = {
  PageShieldSettings: "onDestroy",
  PageShieldPolicy: "description adopt",
  ManagedRulesetOverride: "", // Only live checks compare all that a rule does.
  LogpushJob: "filterChecks frequency maxUploadBytes maxUploadIntervalSeconds maxUploadRecords adopt",
  LogpushTransformer: "",
  KvNamespace: "title preview adopt forceDestroy",
  KvEntries: "maxOwnDeletes verify",
};

function protecting(type: string): JsonObject {
  const [zoneId, accountId] = [api.zones.empty, api.accounts.main];
  const own: Readonly<Record<string, JsonObject>> = {
    PageShieldSettings: { zoneId, enabled: true, useReportingEndpoint: true, useConnectionUrlPath: true },
    PageShieldPolicy: {
      zoneId,
      description: "checkout",
      action: "allow",
      expression: "true",
      value: "script-src 'self'",
    },
    ManagedRulesetOverride: {
      zoneId,
      accountId,
      ref: "owasp",
      ruleset: "Cloudflare OWASP Core Ruleset",
      owasp: { paranoiaLevel: 3, scoreThreshold: "low", action: "block" },
    },
    LogpushJob: {
      zoneId,
      name: "one",
      dataset: "http_requests",
      destinationConf: "https://logs.shop.example/in",
      outputOptions: { fieldNames: ["RayID"] },
    },
    LogpushTransformer: { accountId, name: "t", code: "SELECT RayID FROM http_requests", description: "d" },
    KvNamespace: { accountId, title: "sessions", forceDestroy: true },
    KvEntries: {
      accountId,
      namespaceId: api.namespaces.existing,
      entries: Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`k${index}`, "v"])),
    },
  };
  return own[type] ?? {};
}

test.each(Object.keys(HARMLESS))("of %s", async (type) => {
  const declared = protecting(type);
  const recorded = await new Operation(api).up(type, declared);
  const { id, inputs: old, outputs } = recorded;
  const harmless: string[] = [];
  const unsaid: string[] = [];
  const others = ["accountId", "file", "directory"].filter((name) => !(name in declared)); // Exclude the given ones.
  for (const name of argumentsOf(type).filter((each) => !others.includes(each))) {
    const { inputs } = await new Operation(api).preview(type, { ...declared, [name]: UNKNOWN }, recorded);
    const step = stepOf("update", type, "one", { old, outputs, new: inputs, state: { id } });
    const { dangers } = report(planJson(step), "json");
    if (dangers.length === 0) harmless.push(name);
    else if (!dangers.every(({ sentence }) => sayAny(name).test(String(sentence)))) unsaid.push(name);
  }
  expect(harmless.join(" ")).toBe(HARMLESS[type]);
  expect(unsaid).toEqual([]);
});
