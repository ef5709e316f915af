/**
 * Every sentence of the survey, the report and the drift report that tells people to do something, with the test that
 * does it and sees that it helps. A sentence without a test says why no test can do it.
 */

type Doing = readonly [file: string, title: string] | { readonly untested: string };

const COMPARED = "tests/survey/diff.test.ts";
const DRIFT = "tests/engine/drift.test.ts";
const README = "tests/readme/own-project.test.ts";
const RESUMED = "tests/survey/resume.test.ts";
const SURVEY = "tests/survey/survey.test.ts";

const JOURNALS = [SURVEY, "resumes from a journal with an incomplete last line"] as const;
const STACKS = [SURVEY, "marks objects that stacks manage, and lists the others"] as const;
const ONE_PRODUCT = [SURVEY, "surveys what a token for one product can read"] as const;
const KEPT = [DRIFT, "its code keeps each change"] as const;
const DELETED = [DRIFT, "keeps what was deleted, and what was changed after the program dropped it"] as const;

export const ADVICE: readonly (readonly [says: string, doing: Doing])[] = [
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
  ["pass --account", ONE_PRODUCT],
  ["grant it one of the permissions", [RESUMED, "with a token that can read, the survey starts over"]],
  ["Write one ID or name per line.", ONE_PRODUCT],
  ["To continue, pass --resume.", [RESUMED, "retries the parts that failed during an outage"]],
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
  ["Pipe in `pulumi preview --json", [README, "the first program compiles and runs there"]],
  ["Review these first", { untested: "a review is people's" }],
  ["To keep it deleted, remove", DELETED],
  ["declare … again with", DELETED],
  ["To keep the change, do nothing", [DRIFT, "without --refresh, an update leaves every change as it is"]],
  ["To keep the change, update these keys", KEPT],
  ["To keep the change, …", KEPT],
  ["put this in the program", KEPT],
  ["To keep the changed arguments, …", { untested: "the rest of such a change has no argument" }],
];
