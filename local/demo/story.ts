/** The story the demo tells, as data: what is run, and what a person is to take away. */
export interface Scene {
  readonly title: string;
  /** Changes of the project before the run. */
  readonly edits?: readonly Edit[];
  /** What somebody does in the dashboard before the run. */
  readonly dashboard?: readonly { readonly method: string; readonly path: string; readonly body: unknown }[];
  /** Arguments of the engine. */
  readonly run: readonly string[];
  readonly fails?: true;
  /** What has to be printed for the story to be true. */
  readonly shows?: readonly string[];
  /** What may not be printed for the story to be true. */
  readonly hides?: readonly string[];
  /** Writes that have to be sent, counted. */
  readonly writes: number;
  /** After the run, so many made-up log lines go through the log-push job of this name; fewer of them have to pass. */
  readonly logs?: { readonly job: string; readonly lines: number };
  /** Entries, or keys, that each of the bulk requests has to carry. */
  readonly batches?: readonly number[];
  /** Everything is as it was before the first scene. */
  readonly restores?: true;
  readonly point: string;
}

interface Edit {
  /** Default: index.ts. */
  readonly file?: string;
  readonly replace: string;
  readonly by: string;
  /** What a person is told instead of both texts. */
  readonly says?: string;
}

const UP = ["up", "--yes", "--skip-preview"] as const;

export const STORY: readonly Scene[] = [
  {
    title: "A pull request: what would the program do?",
    run: ["preview", "--diff"],
    shows: ["useConnectionUrlPath", "script-src", "paranoia-level-3 and paranoia-level-4 are off"],
    hides: ["log-collector-token"],
    writes: 0,
    point: "A preview only reads, also what migrating the old zone would mean.",
  },
  {
    title: "Merged: apply it.",
    run: UP,
    writes: 8,
    batches: [12],
    logs: { job: "errors", lines: 500 },
    hides: ["log-collector-token"],
    point:
      "Everything is in place. One request wrote all twelve products; the ruleset stands beside those of others.",
  },
  {
    title: "Again: is anything left to do?",
    run: ["preview", "--expect-no-changes"],
    writes: 0,
    point: "Nothing; only the migration that is assessed was looked at again.",
  },
  {
    title: "Somebody edits in the dashboard. A nightly refresh finds out.",
    dashboard: [
      { method: "PUT", path: "/zones/{zone}/page_shield", body: { use_connection_url_path: false } },
      { method: "PUT", path: "/zones/{zone}/page_shield/policies/{policy}", body: { value: "script-src *" } },
    ],
    run: ["refresh", "--yes", "--skip-preview", "--diff"],
    shows: ["script-src *"],
    writes: 0,
    point: "Both edits are found, and nothing else.",
  },
  {
    title: "The next up repairs it.",
    run: UP,
    writes: 2,
    point: "What the program says holds again.",
  },
  {
    title: "The catalog changes: one price, and one new product.",
    edits: [
      {
        file: "catalog.json",
        replace: '\\"cents\\":5490',
        by: '\\"cents\\":4990',
        says: "the kettle costs 4990 instead of 5490",
      },
      {
        file: "catalog.json",
        replace: '  { "key": "product/kettle"',
        by: '  { "key": "product/scale", "value": "{\\"name\\":\\"Scale\\",\\"cents\\":2490}" },\n  { "key": "product/kettle"',
        says: "a new entry, product/scale",
      },
    ],
    run: ["preview"],
    shows: ["KvEntries products: +1 ~1 -0 (+product/scale, ~product/kettle)"],
    hides: ["Gooseneck", "Scale"],
    writes: 0,
    point: "One line says which keys come, change and go; no value is shown.",
  },
  {
    title: "Merged: apply it.",
    run: UP,
    writes: 1,
    batches: [2],
    point: "One request wrote the two entries; the other eleven were not touched.",
  },
  {
    title: "One paranoia level up: what does that switch on?",
    edits: [{ replace: "paranoiaLevel: 2", by: "paranoiaLevel: 3" }],
    run: ["preview", "--diff"],
    shows: ["3: paranoia-level-4 is off"],
    writes: 0,
    point: "The expansion counts the rules that are on and off because of it.",
  },
  {
    title: "A change with a mistake is refused in the preview.",
    edits: [
      { replace: "paranoiaLevel: 3", by: "paranoiaLevel: 2" },
      { replace: "\"'self'\"", by: '"self"' },
    ],
    run: ["preview"],
    fails: true,
    shows: ["Write 'self', with single quotes"],
    writes: 0,
    point: "One sentence says what is wrong, before anything is sent.",
  },
  {
    title: "Enforcing the policy: what would it block?",
    edits: [
      { replace: '"self"', by: "\"'self'\"" },
      { replace: 'action: "log"', by: 'action: "allow"' },
    ],
    run: ["preview", "--diff"],
    shows: ["wouldBlock"],
    writes: 0,
    point: "wouldBlock counts the scripts seen on these pages that the policy does not allow.",
  },
  {
    title: "The site goes: zone and account get back what they had.",
    run: ["destroy", "--yes", "--skip-preview"],
    writes: 7,
    batches: [13],
    restores: true,
    point:
      "What the program made is gone, others' rules and jobs are untouched, the settings are what they were before.",
  },
];
