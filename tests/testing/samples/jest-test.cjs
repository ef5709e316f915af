const { CASES, FAILING, FAILING_MOCKS } = require("./cases.cjs");

for (const [title, run] of Object.entries(CASES)) test(title, run);
if (process.env.FAILING) {
  test("fails with runProgram", FAILING);
  test("fails with checkedMocks", FAILING_MOCKS);
}
