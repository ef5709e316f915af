/** @type {import("jest").Config} */
module.exports = {
  testEnvironment: "node",
  roots: ["<rootDir>/tests"],
  testMatch: ["**/*.test.ts"],
  transform: { "^.+\\.ts$": ["ts-jest", { tsconfig: "tests/tsconfig.json" }] },
  moduleNameMapper: {
    "^pulumi-edgeguard$": "<rootDir>/provider/index.ts",
    "^pulumi-edgeguard/runtime$": "<rootDir>/provider/runtime/index.ts",
    "^edgeguard-local$": "<rootDir>/local/index.ts",
  },
  globalSetup: "<rootDir>/tests/support/announce.ts",
  testTimeout: 30_000,
  // Most tests wait for processes they started: every core is worth a worker.
  maxWorkers: "100%",
};
