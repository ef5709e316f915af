const { default: Sequencer } = require("@jest/test-sequencer");

/** Tests that start processes take longest. Starting them first keeps all workers busy until the end. */
const LONG = [
  "tests/soak/soak-",
  "tests/report/gate-fuzz/",
  "tests/migration/waf-migration",
  "tests/readme/",
  "tests/examples/",
  "tests/engine/",
  "tests/scenarios/",
  "tests/import/",
  "tests/runtime/lookup",
  "tests/local-engine/",
];

module.exports = class extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const found = LONG.findIndex((part) => path.includes(part));
      return found < 0 ? LONG.length : found;
    };
    return [...tests].sort((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1));
  }
};
