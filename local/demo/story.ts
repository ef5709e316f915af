/** The story the demo tells, as data: what is run, and what a person is to take away. */
export interface Scene {
  readonly title: string;
  /** Changes of the program before the run. */
  readonly edits?: readonly { readonly replace: string; readonly by: string }[];
  /** What somebody does in the dashboard before the run. */
  readonly dashboard?: readonly { readonly method: string; readonly path: string; readonly body: unknown }[];
  /** Arguments of the engine. */
  readonly run: readonly string[];
  readonly fails?: true;
  /** What has to be printed for the story to be true. */
  readonly shows?: readonly string[];
  /** Writes that have to be sent, counted. */
  readonly writes: number;
  readonly point: string;
}

const UP = ["up", "--yes", "--skip-preview"] as const;

export const STORY: readonly Scene[] = [
  {
    title: "A pull request: what would the program do?",
    run: ["preview", "--diff"],
    shows: ["useConnectionUrlPath", "script-src"],
    writes: 0,
    point: "A preview only reads.",
  },
  {
    title: "Merged: apply it.",
    run: UP,
    writes: 2,
    point: "Settings and policy are in place.",
  },
  {
    title: "Again: is anything left to do?",
    run: ["preview", "--expect-no-changes"],
    writes: 0,
    point: "Nothing, and nobody was asked.",
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
    title: "A change with a mistake is refused in the preview.",
    edits: [{ replace: "\"'self'\"", by: '"self"' }],
    run: ["preview"],
    fails: true,
    shows: ["write 'self' with single quotes"],
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
    title: "The site goes: its zone gets back what it had.",
    run: ["destroy", "--yes", "--skip-preview"],
    writes: 2,
    point: "The policy is deleted, the settings are what they were before the first up.",
  },
];
