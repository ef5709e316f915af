import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "../support/engine";

/** The troubleshooting guide quotes parts of messages, so readers can search for what's on their screen. */

const read = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");

const SOURCES = readdirSync(join(REPOSITORY, "provider"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts") && !/^dist\b/.test(path))
  .map((path) => read(join("provider", path)).replace(/^\s*(?:\/\/|\/?\*).*$/gm, ""));

// Words that a message composes, such as an error code, are in the recorded messages.
const MESSAGES = [...SOURCES, read("docs/reference/messages.md")];

const QUOTED = [...read("docs/guides/troubleshooting.md").matchAll(/^\| (`.*?`) +\|/gm)].flatMap(
  ([, cell = ""]) => [...cell.matchAll(/`([^`]+)`/g)].map(([, fragment = ""]) => fragment),
);

test("the troubleshooting guide quotes several messages", () => {
  expect(QUOTED.length).toBeGreaterThan(5);
});

test.each(QUOTED)("the troubleshooting guide's quote `%s` is part of a real message", (fragment) => {
  expect(MESSAGES.some((text) => text.includes(fragment))).toBe(true);
});
