import { nearest } from "../../provider/basics/nearest";

test("finds the name that was probably meant", () => {
  expect(nearest("descripton", ["action", "description"])).toBe("description");
  expect(nearest("threshold", ["scoreThreshold", "action"])).toBe("scoreThreshold");
  expect(nearest("unrelated", ["action"])).toBeUndefined();
});

test("doesn't compare names that are longer than anyone's misspelling", () => {
  const long = "x".repeat(4_000);
  expect(nearest(`${long}y`, [long])).toBeUndefined();
  expect(nearest("acton", [long, "action"])).toBe("action");
});
