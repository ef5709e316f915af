import { markdown, unlinked } from "../../provider/report/phrase";

test.each([
  ["see https://a.example/b?c=d, then go", "see `https://a.example/b?c=d`, then go"],
  ["(www.a.example) and a.example.", "(`www.a.example`) and `a.example`."],
  ["version 1.5, etc. and so on", "version 1.5, etc. and so on"],
  [".a.example: x", "`.a.example`: x"],
])("%s: shows hosts and URLs as code", (text, shown) => {
  expect(markdown(unlinked(text))).toBe(shown);
});

test("keeps long text without addresses as it is", () => {
  for (const text of [".".repeat(200_000), "a.".repeat(100_000), `${"a".repeat(200_000)}.`])
    expect(String(unlinked(text))).toBe(text);
});
