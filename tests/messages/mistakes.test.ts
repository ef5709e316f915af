import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type LocalApi, startLocalApi } from "edgeguard-local";
import { messageRow } from "../../docs/generate/message-row";
import { REPOSITORY } from "../support/engine";
import { COMMON, type Mistake, MISTAKES, playMistake, type ResourceName } from "./mistakes";

/**
 * The reference shows the most likely mistakes with what the preview says: `npm run docs` writes it. Every message says
 * which argument, what you gave, what's allowed, and what to do.
 */
const PAGE = readFileSync(join(REPOSITORY, "docs/reference/messages.md"), "utf8");

let api: LocalApi;
beforeAll(async () => {
  api = await startLocalApi();
});
afterAll(() => api.close());

const ROWS: readonly (readonly [ResourceName | undefined, Mistake])[] = [
  ...COMMON.map((mistake) => [undefined, mistake] as const),
  ...Object.entries(MISTAKES).flatMap(([name, rows]) =>
    rows.map((mistake) => [name as ResourceName, mistake] as const),
  ),
];

describe.each(["", ...Object.keys(MISTAKES)])("%s", (type) => {
  const rows = ROWS.filter(([name]) => (name ?? "") === type);

  test.each(rows.map(([, mistake]) => [mistake.title, mistake] as const))(
    "the preview says what's wrong and how to fix it: %s",
    async (_, mistake) => {
      const played = await playMistake(api, (type || "PageShieldSettings") as ResourceName, mistake);
      expect(played.said).not.toBe("");
      expect(played.refused.length > 0).toBe(mistake.warns !== true);
      expect(played.insteadRefused).toEqual([]);
      expect(mistake.instead ?? mistake.fix).toBeDefined();
      // To update the page, run `npm run docs`.
      const row = messageRow(type, mistake.title, played.said);
      const link = row.slice(row.lastIndexOf("| ["));
      expect(PAGE.split("\n").find((line) => line.endsWith(link))).toBe(row);
    },
  );
});

test("the reference page lists exactly the mistakes that are tested here", () => {
  expect(PAGE.match(/^\| .*\[.*\]\(.*#.*\) \|$/gm) ?? []).toHaveLength(ROWS.length);
});
