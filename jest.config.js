const { availableParallelism } = require("node:os");

/** What a user does first, and whole tools on whole programs, take minutes: `npm run test:use` has them, a stage of .ci/run, and the long run. */
const USE = [
  "/tests/cli/(kv-long-work|report|rollout)",
  "/tests/readme/own-project",
  "/tests/readme/demo",
  "/tests/matrix/without-registry",
  "/tests/contract/",
  "/tests/official-sdk/",
  "/tests/runtime/lifeline",
  "/tests/examples/(programs|pipeline|many-zones|other-systems)",
  "/tests/engine/(drift|interruptions|secrets)",
  "/tests/import/engine",
  "/tests/package/(contents|plugin)",
  "/tests/plugin/",
  "/tests/policy-pack/preview",
  "/tests/testing/runners",
];

/**
 * On an engine, every command starts two processes. The normal run has a program for managed rulesets, a migration and a
 * random one of all resources, and everything over real HTTP without an engine. `npm run test:engine` has the
 * others, a stage of .ci/run, and the long run.
 */
const ENGINE = [
  "/tests/engine/(?!drift|interruptions|secrets)",
  "/tests/scenarios/(?!managed-rulesets/|migration-assessed)",
  "/tests/local-engine/(failure|interruption|lifecycle)",
  "/tests/messages/commands",
  "/tests/runtime/lookup",
  "/tests/readme/documents",
  "/tests/survey/advice",
];

const ONLY = { engine: ENGINE, use: USE }[process.env["EDGEGUARD_TEST"]];
const IS_LONG_RUN = process.env["EDGEGUARD_TEST_LONG"] === "1";
/** `npx jest tests/engine/get` runs what it names. */
const IS_NAMED = process.argv.slice(2).some((argument) => argument.startsWith("tests/"));

/** @type {import("jest").Config} */
module.exports = {
  testEnvironment: "<rootDir>/tests/support/environment.js",
  roots: ["<rootDir>/tests"],
  testRegex: (ONLY ?? [""]).map((path) => `${path}.*\\.test\\.ts$`),
  testPathIgnorePatterns: ONLY !== undefined || IS_LONG_RUN || IS_NAMED ? [] : [...USE, ...ENGINE],
  transform: { "^.+\\.ts$": "<rootDir>/tests/support/transform.js" },
  moduleNameMapper: {
    "^pulumi-edgeguard$": "<rootDir>/provider/index.ts",
    "^pulumi-edgeguard/runtime$": "<rootDir>/provider/register.ts",
    "^pulumi-edgeguard/(policies|testing)$": "<rootDir>/provider/$1/index.ts",
    "^pulumi-edgeguard/plugin$": "<rootDir>/provider/plugin.ts",
    // Loaded once per worker (tests/support/environment.js).
    "^edgeguard-local$": "<rootDir>/tests/support/shared/local.js",
    "^(undici|zod|@grpc/grpc-js)$": "<rootDir>/tests/support/shared/$1.js",
    // A third of the time of a test file that imports the SDK went into loading these, for nothing.
    "^\\./closure/(codePaths|serializeClosure)$": "<rootDir>/tests/support/on-use/closure.js",
    "^semver$": "<rootDir>/tests/support/on-use/semver.js",
    "^@opentelemetry/api$": "<rootDir>/tests/support/on-use/opentelemetry.js",
    "^\\./automation$": "<rootDir>/tests/support/on-use/automation.js",
  },
  globalSetup: "<rootDir>/tests/support/announce.ts",
  testSequencer: "<rootDir>/tests/support/longest-first.js",
  // A guard against a test that hangs, not a measure: a busy machine takes many times as long as a quiet one.
  testTimeout: 180_000,
  // Many tests wait, for a Retry-After or for a process they started: two workers more than there are cores keep these busy.
  // What a file leaves on the heap makes garbage collection slower for the next ones: a new worker is cheaper.
  workerIdleMemoryLimit: "500MB",
  maxWorkers: availableParallelism() + 2,
};
