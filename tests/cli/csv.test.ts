import { visible } from "../../provider/basics/printable";
import { toCsv } from "../../provider/terminal/csv";

test("quotes only cells with commas, quotes or line breaks", () => {
  expect(
    toCsv(
      ["url", "count", "watched", "owner"],
      [
        ["https://cdn.example/a.js", 3, true, undefined],
        ["https://cdn.example/a,b.js", 0, false, 'Ann "A" Lee\nbilling'],
      ],
    ),
  ).toBe(
    'url,count,watched,owner\nhttps://cdn.example/a.js,3,true,\n"https://cdn.example/a,b.js",0,false,"Ann ""A"" Lee\nbilling"\n',
  );
});

test.each([
  "=1+1",
  "+1",
  "-1",
  "@SUM(A1)",
  "\t=1",
  "\r=1",
  "\n=1",
  "＝1",
  '=HYPERLINK("https://x.test","a")',
])("a spreadsheet shows %j as text, not as a formula", (formula) => {
  const [, cell = ""] = toCsv(["a"], [[formula]]).split(/^a\n/);
  const unquoted = cell.replace(/^"(.*)"\n$/s, "$1").replaceAll('""', '"');
  expect(unquoted.trimEnd()).toBe(`'${visible(formula)}`);
});

test("doesn't change text whose only formula characters come after its start", () => {
  expect(toCsv(["a=b"], [["https://x.test/?a=1&b=-1"], ["a@b.example"]])).toBe(
    "a=b\nhttps://x.test/?a=1&b=-1\na@b.example\n",
  );
});

test("escapes characters that hide or reorder text, or move a terminal's cursor", () => {
  expect(toCsv(["name"], [["\u202egnp.exe \u001b[2J\u200b"]])).toBe(
    "name\n\\u202egnp.exe \\u001b[2J\\u200b\n",
  );
});
