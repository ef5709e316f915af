import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { MEANINGS, explainCode, explainError } from "../../provider/api/explain";
import { DEFAULT_CONCURRENCY } from "../../provider/api/connections";
import { RESOURCE_PERMISSIONS } from "../../provider/api/permissions";
import { RETRY } from "../../provider/api/retry";
import { DEFAULT_BASE_URL, PLAIN, type CONFIG_KEYS } from "../../provider/runtime/settings";
import { inSeries } from "../../provider/basics/words";
import { readResult } from "../../tests/matrix/result";
import { enginesOf, ROWS, USUAL, type Row } from "../../tests/matrix/rows";
import { REPOSITORY } from "../../tests/support/repository";
import { limitsMarkdown } from "../../tests/support/limits-markdown";
import { permissionsMarkdown } from "../../tests/support/permissions-markdown";
import { FAULTS } from "../faults";
import { code, lines, list, section, table, type Page } from "./markdown";

/** Pages made of tables in the code. A test compares them, too: they need no TypeDoc. */

export function dataPages(): Page[] {
  return [settingsPage(), permissionsPage(), limitsPage(), errorCodesPage(), faultsPage(), worksWithPage()];
}

interface Setting {
  readonly meaning: string;
  readonly initial?: string | number | boolean;
  readonly range?: string;
  /** Where the environment is read otherwise than as a plain setting. */
  readonly env?: readonly string[];
}

const SETTINGS: Readonly<Record<(typeof CONFIG_KEYS)[number], Setting>> = {
  apiToken: {
    meaning: "The API token. Set it with `--secret`. The classes read `cloudflare:apiToken`, too.",
    env: ["CLOUDFLARE_API_TOKEN"],
  },
  apiEmail: { meaning: "The email of a Global API Key, instead of a token.", env: ["CLOUDFLARE_EMAIL"] },
  apiKey: {
    meaning: "The Global API Key of that email. Set it with `--secret`.",
    env: ["CLOUDFLARE_API_KEY"],
  },
  baseUrl: {
    meaning: "The API's address, without user, password, query or fragment.",
    initial: DEFAULT_BASE_URL,
    range: "http or https, and ends in a version such as `/v4`",
  },
  accountId: {
    meaning: "The account, for resources and lookups that don't name one. `LogpushJob` always names its own.",
    range: "32 hex digits",
  },
  maxRetries: {
    meaning: "Retries of a request after the first attempt.",
    initial: RETRY.maxRetries,
    range: "0 to 20",
  },
  requestsPerSecond: {
    meaning: "A rate below Cloudflare's documented 1,200 requests in 5 minutes, which always applies.",
    range: "above 0, up to 200",
  },
  concurrency: {
    meaning: "Requests in flight at the same time.",
    initial: DEFAULT_CONCURRENCY,
    range: "1 to 64",
  },
  traffic: {
    meaning:
      "Hours of firewall events that a preview counts for changed managed rules. 0 turns it off; the zone's plan may allow fewer. Needs Analytics Read.",
    initial: 24,
    range: "0 to 720",
  },
  liveChecks: {
    meaning:
      "Whether previews read from the API. With `false` they check only what this machine can tell; lookups still read.",
    initial: true,
    range: "`true` or `false`",
  },
};

function settingsPage(): Page {
  const plain: Readonly<Record<string, { readonly env: readonly string[] }>> = PLAIN;
  return {
    path: "settings.md",
    title: "Settings",
    summary: "Credentials and other settings, from stack configuration or the environment.",
    body: lines(
      "Set these in the stack's configuration, such as `pulumi config set edgeguard:concurrency 4`, or in the environment. Stack configuration wins. " +
        "`refresh` and `destroy` use the configuration of the last `pulumi up`.",
      table(
        ["Stack configuration", "Environment", "Default", "Allowed", "Meaning"],
        Object.entries(SETTINGS).map(([key, { meaning, initial, range, env }]) => [
          code(`edgeguard:${key}`),
          (env ?? plain[key]?.env ?? []).map(code).join(", "),
          initial === undefined ? "" : code(String(initial)),
          range ?? "",
          meaning,
        ]),
      ),
      "`EDGEGUARD_DEBUG=1` in the environment prints a line for every request, without secrets, and adds stack traces to errors.",
      "",
      "`EDGEGUARD_SAVED_PLAN=true` in the environment of `pulumi preview --save-plan` leaves out of the plan what the preview only shows: `impact` and `expansion`. They're unknown in that preview, and may differ when the plan is applied. [Saved plans](../guides/pipelines.md#saved-plans) explains more.",
      section(
        2,
        "Which credentials are used",
        "The first of these that's set:",
        [
          "`edgeguard:apiToken`",
          "`edgeguard:apiEmail` with `edgeguard:apiKey`",
          "`cloudflare:apiToken` (classes only: Pulumi doesn't pass it to the [plugin](../guides/other-languages.md))",
          "`CLOUDFLARE_API_TOKEN`",
          "`CLOUDFLARE_EMAIL` with `CLOUDFLARE_API_KEY`",
        ]
          .map((each, index) => `${index + 1}. ${each}`)
          .join("\n"),
        "Only that one is used. If the token in stack configuration was rotated, `refresh` and `destroy` use the old one, which the last `pulumi up` saved. " +
          "Run `pulumi up` to save the new token, or add `--run-program` to `pulumi refresh` or `pulumi destroy`.",
      ),
      section(
        2,
        "Settings of a provider",
        "A [`Provider`](resources/provider.md) takes the same settings as arguments. Its resources and lookups use those, and neither stack configuration nor the environment.",
      ),
      section(
        2,
        "Settings of a lookup",
        "A lookup takes the same settings for a single call, in its [`config`](functions/common.md#lookupoptions). It then reads neither stack configuration nor the environment.",
      ),
    ),
  };
}

function permissionsPage(): Page {
  const notes = Object.entries(RESOURCE_PERMISSIONS).flatMap(([name, rights]) =>
    "note" in rights ? [`\`${name}\`: ${rights.note}`] : [],
  );
  return {
    path: "permissions.md",
    title: "Permissions",
    summary: "The permissions that an API token needs, by resource.",
    body: lines(
      "Previews need only the first column; `pulumi up` and `pulumi destroy` need the second. The names are those of " +
        "[Cloudflare's API](https://developers.cloudflare.com/fundamentals/api/reference/permissions/); the dashboard says Edit instead of Write. " +
        "If Cloudflare forbids a request, the error names the missing permission.",
      section(2, "By resource", permissionsMarkdown(), list(notes)),
      section(
        2,
        "Lookups and commands",
        list([
          "A lookup needs Read of what it reads; its entry in the [reference](index.md#lookups) lists it.",
          "`edgeguard import` needs what previews need, and Zone Read. Without Zone Read, pass `--account` or set `CLOUDFLARE_ACCOUNT_ID`.",
          "`edgeguard kv` needs Workers KV Storage Read, or Write to change something.",
          "`edgeguard report` needs none: it sends no request.",
        ]),
      ),
    ),
  };
}

function limitsPage(): Page {
  return {
    path: "limits.md",
    title: "Limits",
    summary: "Cloudflare's documented limits that the product knows, as it checks them.",
    body: lines(
      "Cloudflare's documented limits, as the code checks them. In a program they're data, in [`limits`](functions/workers-limits.md#constants); " +
        "`checkWorker`, `checkAccount` and `checkRequest` compare a Worker, an account and a request with them.",
      limitsMarkdown(),
    ),
  };
}

function errorCodesPage(): Page {
  const codes = Object.keys(MEANINGS).map(Number);
  const rows = [...codes, 1004]
    .sort((a, b) => a - b)
    .map((number) => [String(number), explainCode(number) ?? ""]);
  const statuses = [
    ["HTTP 413", { status: 413 }],
    ["HTTP 429", { status: 429 }],
    ["Error page 1015", { code: 1015 }],
    ["Error page 1027", { code: 1027 }],
  ] as const;
  return {
    path: "error-codes.md",
    title: "API error codes",
    summary: "What the error codes of Cloudflare's API mean, and what to do.",
    body: lines(
      "Errors quote Cloudflare's own words with the code and the Ray ID, then say what the code means. " +
        "[`explainError`](functions/workers-limits.md#explainerror) gives the same sentences in a program.",
      section(2, "Error codes in an API response", table(["Code", "Meaning"], rows)),
      section(
        2,
        "Statuses and error pages",
        table(
          ["What you see", "Meaning"],
          statuses.map(([title, error]) => [title, explainError(error) ?? ""]),
        ),
      ),
    ),
  };
}

function faultsPage(): Page {
  return {
    path: "faults.md",
    title: "Faults it survives",
    summary:
      "What happens when the network, the API, the process or a colleague interferes, with the test that proves it.",
    body: lines(
      "The tests simulate each of these against the local API, most of them through a Pulumi engine.",
      ...FAULTS.map(({ area, rows }) =>
        section(
          2,
          area,
          table(
            ["What goes wrong", "What happens", "Proved by"],
            rows.map(({ fault, result, test: [file] }) => [
              fault,
              result,
              `[${file.replace(/^tests\//, "").replace(/\.test\.ts$/, "")}](../../${file})`,
            ]),
          ),
        ),
      ),
    ),
  };
}

const manifest = z.object({
  engines: z.object({ node: z.string() }),
  peerDependencies: z.record(z.string(), z.string()),
});

function worksWithPage(): Page {
  const text = readFileSync(join(REPOSITORY, "provider/package.json"), "utf8");
  const { engines, peerDependencies } = manifest.parse(JSON.parse(text));
  const passed = readResult();
  const all = (of: (each: (typeof passed)[number]) => string): string =>
    inSeries([...new Set(passed.map(of))]);
  const kinds = [...new Set(ROWS.map(({ kind }) => kind))];
  return {
    path: "works-with.md",
    title: "Compatibility",
    summary: "The package managers, kinds of programs and versions that are tested.",
    body: lines(
      "For every row, `npm run test:matrix` installs the packed packages in a new project, then runs `preview`, `up`, `preview` " +
        "and `destroy` against the local API: on the [local engine](../../local/engine/README.md) and on the Pulumi CLI. " +
        "A row that fails is taken out of this page. The last run was on " +
        `${all(({ date }) => date)}, on ${all(({ platform }) => platform)} with Pulumi CLI ${all(({ cli }) => cli)}.`,
      "A test runner's row runs a unit test of a program, in one process and without an engine.",
      "A project has what `pulumi new typescript` gives it, with " +
        `${inSeries([
          `Node.js ${USUAL.node}`,
          ...Object.entries(USUAL.packages).map(([name, version]) => `${code(name)} ${version}`),
        ])}, installed by npm ${USUAL.manager[1]}, unless its row says otherwise.`,
      ...kinds.map((kind) =>
        section(
          2,
          kind,
          table(
            ["", "Local engine", "Pulumi CLI", "What the project needs"],
            ROWS.filter(
              (row) =>
                row.kind === kind && passed.some((each) => each.kind === kind && each.name === row.name),
            ).map(testedRow),
          ),
        ),
      ),
      section(
        2,
        "Allowed versions",
        table(
          ["", "Allowed"],
          [
            ["Node.js", code(engines.node)],
            ...["@pulumi/pulumi", "typescript", "prettier"].map((name) => [
              code(name),
              code(peerDependencies[name] ?? ""),
            ]),
          ],
        ),
        list([
          "`pulumi import --file` needs Pulumi CLI 3.254 or later.",
          "TypeScript is needed only by programs written in TypeScript; Prettier only to format what `edgeguard import` writes.",
        ]),
      ),
    ),
  };
}

function testedRow(row: Row): string[] {
  const engines = enginesOf(row);
  const none = row.onlyCli === undefined ? "–" : `no: ${row.onlyCli}`;
  return [
    row.name,
    engines.includes("local") ? "yes" : none,
    engines.includes("cli") ? "yes" : "–",
    row.needs ?? "",
  ];
}
