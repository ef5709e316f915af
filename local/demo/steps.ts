import { OWASP_SCORE_RULE } from "../api/rulesets/ids";

/** The demo's steps, as data: what each one runs, and what the reader should learn from it. */
export interface DemoStep {
  readonly title: string;
  /** Changes to the project before the run. */
  readonly edits?: readonly Edit[];
  /** What someone changes in the dashboard before the run. */
  readonly dashboard?: readonly { readonly method: string; readonly path: string; readonly body: unknown }[];
  /** What happened in the zone before the run, and how often. */
  readonly events?: { readonly times: number; readonly ruleId: string; readonly action: string };
  /** The engine's arguments. */
  readonly run: readonly string[];
  readonly fails?: true;
  /** Texts that the run must print. */
  readonly prints?: readonly string[];
  /** Texts that the run must not print. */
  readonly neverPrints?: readonly string[];
  /** The exact number of writes. */
  readonly writes: number;
  /** The number of entries or keys in each bulk request. */
  readonly batches?: readonly number[];
  /** Whether the API's state after this step must equal its initial state. */
  readonly restoresEverything?: true;
  readonly summary: string;
}

interface Edit {
  /** The file to edit. By default, index.ts. */
  readonly file?: string;
  readonly from: string;
  readonly to: string;
  /** Printed instead of `from` and `to`. */
  readonly description?: string;
}

const UP = ["up", "--yes", "--skip-preview"] as const;

export const DEMO_STEPS: readonly DemoStep[] = [
  {
    title: "Open a pull request: what would the program do?",
    run: ["preview", "--diff"],
    prints: ["useConnectionUrlPath", "script-src", 'levelsOff: ["paranoia-level-3", "paranoia-level-4"]'],
    neverPrints: ["log-collector-token"],
    writes: 0,
    summary: "A preview only reads. This one also shows what migrating the old zone's WAF would do.",
  },
  {
    title: "Merge it: deploy the program.",
    run: UP,
    writes: 8,
    batches: [12],
    neverPrints: ["log-collector-token"],
    summary:
      "Everything is live. One request wrote all 12 products, and the OWASP rule sits beside everyone else's rules.",
  },
  {
    title: "Preview again: is anything left to do?",
    run: ["preview", "--expect-no-changes"],
    writes: 0,
    summary: "No changes. The preview only assessed the old zone's migration again.",
  },
  {
    title: "Someone edits the zone in the dashboard. The nightly refresh catches it.",
    dashboard: [
      { method: "PUT", path: "/zones/{zone}/page_shield", body: { use_connection_url_path: false } },
      { method: "PUT", path: "/zones/{zone}/page_shield/policies/{policy}", body: { value: "script-src *" } },
    ],
    run: ["refresh", "--yes", "--skip-preview", "--diff"],
    prints: ["script-src *"],
    writes: 0,
    summary: "The refresh found both edits, and nothing else.",
  },
  {
    title: "The next update repairs the drift.",
    run: UP,
    writes: 2,
    summary: "The zone matches the program again.",
  },
  {
    title: "Change the catalog: one new price, one new product.",
    edits: [
      {
        file: "catalog.json",
        from: '\\"cents\\":5490',
        to: '\\"cents\\":4990',
        description: "the kettle now costs 4990 cents instead of 5490",
      },
      {
        file: "catalog.json",
        from: '  { "key": "product/kettle"',
        to: '  { "key": "product/scale", "value": "{\\"name\\":\\"Scale\\",\\"cents\\":2490}" },\n  { "key": "product/kettle"',
        description: "a new entry, product/scale",
      },
    ],
    run: ["preview"],
    prints: ["KvEntries products: +1 ~1 -0 (+product/scale, ~product/kettle)"],
    neverPrints: ["Gooseneck", "Scale"],
    writes: 0,
    summary: "One line lists the keys to add, change and delete. It never shows a value.",
  },
  {
    title: "Merge it: deploy the catalog.",
    run: UP,
    writes: 1,
    batches: [2],
    summary: "One request wrote both entries and left the other 11 alone.",
  },
  {
    title: "Raise the paranoia level by one: which rules would that turn on?",
    edits: [{ from: "paranoiaLevel: 2", to: "paranoiaLevel: 3" }],
    run: ["preview", "--diff"],
    prints: ["paranoia-level-4"],
    writes: 0,
    summary: "`expansion` counts the rules that this would turn on, and those that stay off.",
  },
  {
    title: "Block instead of challenging: what would that have meant for the last day's requests?",
    edits: [
      { from: "paranoiaLevel: 3", to: "paranoiaLevel: 2" },
      { from: 'action: "managed_challenge"', to: 'action: "block"' },
    ],
    events: { times: 12, ruleId: OWASP_SCORE_RULE, action: "managed_challenge" },
    run: ["preview"],
    prints: ["managed_challenge → block: at most 12 events of the last 24 h would have been blocked"],
    writes: 0,
    summary: "The preview counts Cloudflare's firewall events, which can be visitors as well as attacks.",
  },
  {
    title: "Make a mistake: the preview fails.",
    edits: [
      { from: 'action: "block"', to: 'action: "managed_challenge"' },
      { from: "\"'self'\"", to: '"self"' },
    ],
    run: ["preview"],
    fails: true,
    prints: ["Write 'self', with single quotes"],
    writes: 0,
    summary: "The error says what's wrong and how to fix it, before anything is sent.",
  },
  {
    title: "Enforce the policy: what would it block?",
    edits: [
      { from: '"self"', to: "\"'self'\"" },
      { from: 'action: "log"', to: 'action: "allow"' },
    ],
    run: ["preview", "--diff"],
    prints: ["wouldBlock"],
    writes: 0,
    summary:
      "`impact.wouldBlock` counts and lists the scripts seen on these pages that the policy doesn't allow.",
  },
  {
    title: "Retire the site: destroy puts everything back.",
    run: ["destroy", "--yes", "--skip-preview"],
    writes: 7,
    batches: [13],
    restoresEverything: true,
    summary:
      "Everything the program created is gone. Other people's rules and jobs are untouched, and the settings are what they were before.",
  },
];
