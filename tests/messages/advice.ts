/**
 * Every sentence of the survey, the report and the drift report that tells people to do something, and every fix of a
 * mistake that isn't an argument, with the test that does it and sees that it helps. A sentence without a test says why
 * none does it. What to write instead of a wrong argument is done by `mistakes.test.ts`.
 */

type Doing = readonly [file: string, title: string] | { readonly untested: string };

const COMPARED = "tests/survey/diff.test.ts";
const DRIFT = "tests/engine/drift.test.ts";
const README = "tests/readme/own-project.test.ts";
const RESUMED = "tests/survey/resume.test.ts";
const SURVEY = "tests/survey/survey.test.ts";

const MIGRATION = "tests/migration/waf-migration.test.ts";
const COMMANDS = ["tests/messages/commands.test.ts", "mend the configuration"] as const;
const PERMISSIONS = [
  "tests/api/permissions.test.ts",
  "%s needs only the permissions that it documents",
] as const;
const README_PROGRAM = [README, "the first program compiles and runs there"] as const;
const TASK = ["tests/survey/advice.test.ts", "leaves nothing to do in $title"] as const;
const JOURNALS = [SURVEY, "resumes from a journal with an incomplete last line"] as const;
const STACKS = [SURVEY, "marks objects that stacks manage, and lists the others"] as const;
const ONE_PRODUCT = [SURVEY, "surveys what a token for one product can read"] as const;
const KEPT = [DRIFT, "its code keeps each change"] as const;
const DELETED = [DRIFT, "keeps what was deleted, and what was changed after the program dropped it"] as const;

export const ADVICE: readonly (readonly [says: string, doing: Doing])[] = [
  [
    "Run `pulumi up` to finish it",
    [
      "tests/rulesets/managed-ruleset-override-parallel.test.ts",
      "records the rule if the create fails after adding it, and the next update continues from there",
    ],
  ],
  ["Pass the older survey first.", [COMPARED, "warns if the first survey is newer than the second"]],
  ["Pass a survey.json that", [SURVEY, "says what got better and worse between two surveys"]],
  ["update pulumi-edgeguard.", { untested: "there is no later version yet" }],
  ["Delete the file to start over.", JOURNALS],
  ["To resume that survey, pass the same", JOURNALS],
  ["To start another one, pass a different directory", JOURNALS],
  [
    "Pass a host (checkout.*)",
    ["tests/survey/payment-pages.test.ts", "decides whether the pattern %s matches"],
  ],
  [
    "To keep the keys, put them in the program's",
    ["tests/kv/kv-entries.test.ts", "prune keeps a colleague's key that the program declares"],
  ],
  ["pass --account", ONE_PRODUCT],
  ["Write one ID or name per line.", ONE_PRODUCT],
  ["To continue, pass --resume.", [RESUMED, "marks what the stacks manage now"]],
  ["Check that the disk isn't full", [RESUMED, "can be resumed after the disk was full"]],
  ["run the `edgeguard import` commands", STACKS],
  ["To import them, run", STACKS],
  ["Pass a project directory, or a file that", STACKS],
  ["or pass the zones' IDs with --zones FILE.", ONE_PRODUCT],
  [
    "Create it with `edgeguard inventory check",
    ["tests/cli/inventory.test.ts", "shows the check in each format"],
  ],
  [
    "Pass one plan per stack.",
    ["tests/report/several-stacks.test.ts", "adds up counts, names each resource's stack"],
  ],
  ["Use `pulumi preview --refresh --json", [DRIFT, "its command undoes each change"]],
  ["Pipe in `pulumi preview --json", README_PROGRAM],
  ...[
    "Approve or remove",
    "Check whether … can block",
    "Check whether … rules on log can block",
    "Consider the OWASP Core Ruleset",
    "Migrate to the current WAF managed rules",
    "Remove or block",
    "Repair …",
    "Resolve what blocks",
    "Review the enforced policy",
    "Turn on Page Shield",
  ].map((says) => [says, TASK] as const),
  ["Review these first", { untested: "a review is people's" }],
  ["To keep it deleted, remove", DELETED],
  ["declare … again with", DELETED],
  ["To keep the change, do nothing", [DRIFT, "without --refresh, an update leaves every change as it is"]],
  [
    "run …, which records it",
    [
      "tests/rulesets/managed-ruleset-override-drift.test.ts",
      "is reported once, by the next refresh, and is drift",
    ],
  ],
  ["must have these keys as they are now", KEPT],
  ["To keep the change, …", KEPT],
  [
    "To manage the key, declare it as …",
    [
      "tests/report/closed.test.ts",
      "finds a key that logs what matched, and the program keeps it by declaring it",
    ],
  ],
  ["put this in the program", KEPT],
  ["To keep the changed arguments, …", { untested: "the rest of such a change has no argument" }],
  // Fixes of mistakes.
  ["Run `pulumi config set --secret edgeguard:apiToken`", README_PROGRAM],
  ["Set the token again, without the line break.", README_PROGRAM],
  [
    "Create a new token in the dashboard",
    ["tests/engine/interruptions.test.ts", "after the saved token was rotated"],
  ],
  ["Add the permission", PERMISSIONS],
  ["Check the network and the proxy.", { untested: "only people know their network" }],
  [
    "Run again later.",
    ["tests/rulesets/managed-ruleset-override-parallel.test.ts", "the next update finds the rule"],
  ],
  ["Run `pulumi config rm edgeguard:baseUrl`", { untested: "without it, requests would go to Cloudflare" }],
  ["Run `pulumi config set edgeguard:concurrency 8`.", COMMANDS],
  ["Keep the token: `pulumi config rm", COMMANDS],
  ["Run the command of the message", COMMANDS],
  ["Run the two commands of the message.", COMMANDS],
  ["Set the new one with `--secret`.", COMMANDS],
  ["Put the comma after the first entry.", { untested: "it's about one file's text" }],
  [
    "Paths are relative to the program's folder.",
    ["tests/plugin/languages.test.ts", "from its directory and as `main`"],
  ],
  ["Give each entry a `value`.", { untested: "it's about one file's text" }],
  ["Remove one of the two entries.", { untested: "it's about one file's text" }],
  [
    "If you renamed or moved the resource, add its old URN to `aliases`.",
    ["tests/soak/remedies.ts", 'name: "aliases"'],
  ],
  [
    "Run `pulumi up` once: it names the file",
    ["tests/logpush/job-proof.test.ts", "with the token, it creates the job"],
  ],
  ["Upgrade the zone's plan, or remove the resource.", { untested: "a plan is bought" }],
  [
    "Find the rule's ID with",
    ["tests/rulesets/lookups.test.ts", "getManagedRuleset reads a ruleset by ID or name"],
  ],
  [
    "Name the `ref` of a rule that exists",
    [
      "tests/rulesets/managed-ruleset-override-adopt.test.ts",
      "when another rule is positioned before that rule",
    ],
  ],
  ["Merge the sources of both policies into one", { untested: "people decide what their pages need" }],
  ["Read the preview of `target:", [MIGRATION, "goes from start to validation to finished"]],
  ["set `confirm` to the digest that it prints now.", [MIGRATION, "fails after someone adds a rule"]],
  ["Copy all 64 digits.", [MIGRATION, "goes from start to validation to finished"]],
  [
    "Do what each line of the message says",
    [MIGRATION, "accepts a confirmation as soon as nothing blocks the zone"],
  ],
  ['Set `target: "finished"`', [MIGRATION, "goes straight from start to finished"]],
  ["Leave `configuration` out", [MIGRATION, "sends the same rules if proposedConfiguration is passed"]],
];
