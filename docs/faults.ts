/** A fault, what happens, and the test that proves it: its file and its title. A test checks that the title exists. */
interface Fault {
  readonly fault: string;
  readonly result: string;
  readonly test: readonly [file: string, title: string];
}

export const FAULTS: readonly { readonly area: string; readonly rows: readonly Fault[] }[] = [
  {
    area: "Network and API",
    rows: [
      {
        fault: "A read, update or delete gets no response, or half of one",
        result: "It's sent again.",
        test: ["tests/api/retries.test.ts", "is retried after a response that was cut off"],
      },
      {
        fault: "The response to a create is lost",
        result: "The update looks for the new object and records it. There's one policy, not two.",
        test: [
          "tests/engine/interruptions.test.ts",
          "creates one policy, not two, if the response to its create is lost",
        ],
      },
      {
        fault: "The response to a create is lost, and the list lags behind",
        result:
          "The update waits 9 s for the list before it sends the create again. If that isn't enough, it warns that there may be two objects, and deletes neither.",
        test: [
          "tests/page-shield/policy.test.ts",
          "warns that there may be two policies if the list lags for longer, and doesn't wait for the list",
        ],
      },
      {
        fault: "Cloudflare returns 429 with `Retry-After`",
        result: "Every request of the run waits that long. A wait of more than five seconds is announced.",
        test: ["tests/api/retries.test.ts", "announces a wait of more than five seconds"],
      },
      {
        fault: "A storm of 429 during a bulk write to Workers KV",
        result: "It's waited out, and every entry is confirmed once.",
        test: ["tests/kv/faults.test.ts", "waits out many 429 responses and writes every entry once"],
      },
      {
        fault: "Half of a bulk write keeps failing until the retries run out",
        result: "The error names the keys, and the next update sends only those.",
        test: [
          "tests/kv/faults.test.ts",
          "names keys that keep failing, and the next update sends only those",
        ],
      },
      {
        fault: "A bulk write is too large (413)",
        result: "It's halved until Cloudflare takes it. No half is sent twice.",
        test: [
          "tests/kv/faults.test.ts",
          "splits a body refused with 413 in half until it's accepted, and sends no half twice",
        ],
      },
      {
        fault: "A list changes while its pages are read",
        result: "No item appears twice.",
        test: ["tests/api/pages.test.ts", "drops an item that appears twice"],
      },
      {
        fault: "Cloudflare can't be reached during a preview",
        result: "The preview continues with one warning, and checks what it can without the API.",
        test: [
          "tests/scenarios/fork/scenario.test.ts",
          "a pull request from a fork previews without credentials, with one warning",
        ],
      },
    ],
  },
  {
    area: "Killed processes",
    rows: [
      {
        fault: "The provider process is killed during an update",
        result: "The next update continues from there and creates nothing twice.",
        test: [
          "tests/engine/interruptions.test.ts",
          "continues after the provider host was killed, and creates nothing twice",
        ],
      },
      {
        fault: "The engine is killed during a create",
        result: "The provider sends nothing more. The next update converges.",
        test: [
          "tests/engine/interruptions.test.ts",
          "sends nothing after the engine was killed in the middle of a create, and the next up converges",
        ],
      },
      {
        fault: "A WAF migration is killed at any point",
        result: "The next update reads the zone first, and sends the step once.",
        test: [
          "tests/migration/waf-migration-kill.test.ts",
          "the next up completes the step, with one effective PUT in all",
        ],
      },
      {
        fault: "Ctrl-C during an update",
        result: "Steps under way finish and are recorded. No other step begins.",
        test: [
          "tests/local-engine/interruption.test.ts",
          "finishes the running step after Ctrl-C, and starts no others",
        ],
      },
      {
        fault: "Ctrl-C during `edgeguard kv bulk put`",
        result: "It finishes the requests under way, says how far it got, and exits with 130.",
        test: [
          "tests/cli/kv-long-work.test.ts",
          "on Ctrl-C, bulk put finishes requests in flight, says what was written, and exits with 130",
        ],
      },
    ],
  },
  {
    area: "Other people",
    rows: [
      {
        fault: "Someone changes a managed rule in the dashboard",
        result: "A refresh shows it, and the next update puts it right. What's theirs stays.",
        test: [
          "tests/rulesets/managed-ruleset-override-drift.test.ts",
          "shows a change that the next update repairs",
        ],
      },
      {
        fault: "Ten programs change the managed rules of one zone at the same time",
        result: "Every rule lands, and none is lost.",
        test: [
          "tests/rulesets/managed-ruleset-override-parallel.test.ts",
          "create and delete ten deployments of one program",
        ],
      },
      {
        fault: "Two resources change one zone at the same time",
        result: "They take turns, and both changes land.",
        test: [
          "tests/runtime/verbs.test.ts",
          "creates two resources of a zone one after the other, even if the engine starts both at once",
        ],
      },
    ],
  },
  {
    area: "Credentials",
    rows: [
      {
        fault: "The token in stack configuration was rotated",
        result:
          "`refresh` and `destroy` fail, and say to run `pulumi up`, which saves the new token, or to add `--run-program`.",
        test: [
          "tests/engine/interruptions.test.ts",
          "says how to refresh and destroy after the saved token was rotated",
        ],
      },
      {
        fault: "A credential reaches an error, a log or the state",
        result: "It's redacted everywhere.",
        test: [
          "tests/engine/interruptions.test.ts",
          "keeps every credential out of the state and the output",
        ],
      },
    ],
  },
];
