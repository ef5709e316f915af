import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { validateWorkflow } from "@action-validator/core";
import { isDatasetOf } from "../../local/api/logpush/datasets";
import { DATASETS, isDocumentedFor } from "../../provider/logpush/dataset-fields";
import { REPOSITORY } from "../support/repository";
import { complaints, MOST_REVIEWED, type Reviewed } from "./compare";
import { check } from "./main";
import { subjects, type Subject } from "./subjects";

const SDK = join(REPOSITORY, "tests/official-sdk/node_modules/cloudflare");
const FOLDERS = ["core", "internal", "resources/logpush", "resources/kv", "resources/page-shield"];

/** The types that are compared, and what they import. */
function copyOfTypes(): string {
  const copy = mkdtempSync(join(tmpdir(), "edgeguard-contract-"));
  const isType = (path: string): boolean => !/\.(map|js|mjs|mts)$/.test(path);
  for (const folder of [...FOLDERS, "resources/rulesets"])
    cpSync(join(SDK, folder), join(copy, folder), { recursive: true, filter: isType });
  return copy;
}

let all: readonly Subject[];
let copy: string;
beforeAll(async () => {
  all = await subjects();
  copy = copyOfTypes();
});
afterAll(() => rmSync(copy, { recursive: true }));

test("what we send, read and simulate is what the official SDK has, but for reviewed differences", () => {
  expect(check(SDK, all)).toEqual([]);
});

test("a member or value that the SDK gains is a difference, in each object", () => {
  const files = readdirSync(copy, { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".d.ts"),
  );
  for (const file of files.filter((path) => path.startsWith("resources"))) {
    const text = readFileSync(join(copy, file), "utf8")
      .replace(/(interface \w+(?: extends [^{]+)? \{)/g, '$1 made_up_member?: "yes";')
      .replace(/'(unixnano|audit_logs|eu|allow)' \|/g, "'$1' | 'made_up_value' |");
    writeFileSync(join(copy, file), text);
  }
  const found = check(copy, all);
  for (const { name, ours } of all)
    for (const side of Object.keys(ours)) expect(found).toContain(`${name}: ${side} lacks made_up_member`);
  expect(found).toEqual(
    expect.arrayContaining([
      "Logpush job, sent: sends lacks output_options.made_up_member",
      "Logpush job, sent: accepts lacks output_options.timestamp_format=made_up_value",
      "Logpush job, sent: accepts lacks dataset=made_up_value",
      "Page Shield policy, sent: accepts lacks action=made_up_value",
      "execute rule, sent: sends lacks action_parameters.overrides.rules[].made_up_member",
      "skip rule, read: simulates lacks action_parameters.made_up_member",
    ]),
  );
});

test("the local API has each dataset in the zones and accounts that previews expect", () => {
  for (const dataset of DATASETS)
    for (const scope of ["zone", "account"] as const)
      expect([dataset, scope, isDatasetOf(dataset, `${scope}s`)]).toEqual([
        dataset,
        scope,
        isDocumentedFor(dataset, scope),
      ]);
});

test("a reviewed difference that no longer exists, or one too many, is a complaint", () => {
  const row: Reviewed = ["a", "*", "lacks", "b", "A reason."];
  const found = { subject: "a, sent", side: "sends", verb: "lacks", path: "b" } as const;
  expect(complaints([found], [row])).toEqual([]);
  expect(complaints([], [row])).toEqual(["a: reviewed, but gone: * lacks b"]);
  expect(
    complaints(
      [found],
      Array.from({ length: MOST_REVIEWED + 1 }, () => row),
    ),
  ).toEqual([`${MOST_REVIEWED + 1} differences are reviewed. At most ${MOST_REVIEWED} may be.`]);
});

test("the weekly workflow is valid, pins its actions, and only the step that writes the issue has a token", () => {
  const text = readFileSync(join(REPOSITORY, ".github/workflows/contract.yml"), "utf8");
  expect((validateWorkflow(text) as { errors: unknown[] }).errors).toEqual([]);
  for (const [, action = ""] of text.matchAll(/uses: (\S+)/g)) expect(action).toMatch(/@[0-9a-f]{40}$/);
  expect(text.match(/github\.token/g)).toHaveLength(1);
  expect(text.slice(0, text.indexOf("github.token"))).toMatch(
    /gh issue create[^\n]*\n\s+env:\n.*\n\s+GH_TOKEN: \$\{\{ $/,
  );
});
