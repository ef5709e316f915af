import { readFileSync } from "node:fs";
import { join } from "node:path";
import { apiPerFile } from "../support/bench";
import type { JsonObject } from "../../provider/basics/json";
import { kebab } from "../../docs/generate/markdown";
import { REPOSITORY } from "../support/engine";
import { Operation } from "../support/operation";
import type { ResourceName } from "../support/permissions-markdown";
import { SAMPLES } from "../support/samples";
import { isWrite } from "../support/is-write";

/** Arguments whose change writes nothing (the update may read). */

const CHANGES: Readonly<Partial<Record<ResourceName, JsonObject>>> = {
  PageShieldSettings: { onDestroy: "keep" },
  PageShieldPolicy: { adopt: "takeOver" },
  ManagedRulesetOverride: { adopt: "takeOver", onDestroy: "keep" },
  LogpushJob: { adopt: "takeOver", filterChecks: "warn" },
  LogpushTransformer: { adopt: "takeOver" },
  KvNamespace: { adopt: "takeOver", forceDestroy: true },
};

const api = apiPerFile();

test("tests every argument whose reference says that changing it writes nothing", () => {
  const documented = (Object.keys(SAMPLES) as ResourceName[]).flatMap((type) => {
    const page = readFileSync(join(REPOSITORY, `docs/reference/resources/${kebab(type)}.md`), "utf8");
    return [...page.matchAll(/^\| \[`(\w+)`\].*\| writes nothing \|$/gm)].map(
      ([, name]) => `${type}.${name}`,
    );
  });
  const played = Object.entries(CHANGES).flatMap(([type, change]) =>
    Object.keys(change).map((name) => `${type}.${name}`),
  );
  expect(documented.sort()).toEqual(played.sort());
});

test.each(
  Object.entries(CHANGES).flatMap(([type, change]) =>
    Object.entries(change).map(([name, value]) => [type as ResourceName, name, value] as const),
  ),
)("changing %s.%s writes nothing", async (type, name, value) => {
  api.reset();
  const { args } = SAMPLES[type](api);
  const recorded = await new Operation(api).up(type, args);
  api.clearRequests();
  const op = new Operation(api);
  const { step, inputs } = await op.preview(type, { ...args, [name]: value }, recorded);
  expect(step).toBe("update");
  await op.update(type, inputs, recorded);
  expect(api.requests.filter(isWrite)).toEqual([]);
});
