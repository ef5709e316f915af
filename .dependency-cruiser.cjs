/**
 * The house, floor by floor, from the ground up. A file may import from its own floor's folder and from every floor
 * below; products stand side by side and may use each other.
 */
const FLOORS = [
  ["version"],
  ["limits"],
  ["basics"],
  ["api"],
  ["runtime"],
  ["rules-language"],
  ["page-shield", "rulesets", "migration", "logpush", "kv", "workers-limits"],
  ["report", "register", "protected-zone"],
  ["terminal"],
  ["import", "survey"],
  ["cli"],
  ["index", "policies", "testing", "schemas"],
  ["plugin"],
];

const pathOf = (names) => `^provider/(${names.join("|")})(/|\\.ts$)`;

const above = FLOORS.slice(0, -1).map((floor, index) => ({
  name: `nothing-above-${floor[0]}`,
  comment: "Imports only run downwards: move what both floors need to the lower one.",
  severity: "error",
  from: { path: pathOf(floor) },
  to: { path: pathOf(FLOORS.slice(index + 1).flat()) },
}));

/** The API and the engine of `local/` know neither each other nor those that use both: the driver and the demo. */
const alone = ["api", "engine"].map((part) => ({
  name: `local-${part}-stands-alone`,
  comment: `local/${part} is complete in its folder: what needs the other one, too, belongs to the driver or the demo.`,
  severity: "error",
  from: { path: `^local/${part}/` },
  to: { path: "^(provider|tests|local)/", pathNot: `^local/${part}/` },
}));

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    ...above,
    ...alone,
    {
      name: "every-folder-has-a-floor",
      comment: "A new folder of the provider takes its place in FLOORS.",
      severity: "error",
      from: { path: "^provider/", pathNot: [pathOf(FLOORS.flat()), "^provider/(bin|dist)/"] },
      to: {},
    },
    {
      name: "no-circle",
      comment: "Two files that need each other are one file, or need a third one below both.",
      severity: "error",
      from: { path: "^(provider|local)/" },
      to: { circular: true },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "/(dist|node_modules)/" },
    tsPreCompilationDeps: true, // A type from above ties the floors together just as well.
    tsConfig: { fileName: "tsconfig.check.json" },
  },
};
