import { aliasUrns } from "../../local/engine/aliases";
import { changedKeys, detailed, diffMaps } from "../../local/engine/diff";
import { deletionOrder } from "../../local/engine/graph";
import { formatPath, parsePath, resetTo } from "../../local/engine/paths";
import { newState } from "../../local/engine/state";
import {
  fromWire,
  markSecretsLike,
  Secret,
  toPlain,
  toRedacted,
  toWire,
  Unknown,
} from "../../local/engine/values";

describe("values", () => {
  const wire = {
    plain: [1, "two", null],
    closed: { "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", value: { a: 1 } },
  };

  it("stay secret or unknown when they're sent and received", () => {
    const value = fromWire({ ...wire, later: "04da6b54-80e4-46f7-96ec-b56ff0331ba9" });
    expect(value).toEqual({ plain: [1, "two", null], closed: new Secret({ a: 1 }), later: Unknown.value });
    expect(toWire(fromWire(wire))).toEqual(wire);
    expect(toPlain(fromWire(wire))).toEqual({ plain: [1, "two", null], closed: { a: 1 } });
    expect(toRedacted(fromWire(wire))).toEqual({ plain: [1, "two", null], closed: "[secret]" });
  });

  it("are marked as secret again by key, including inside objects", () => {
    const sent = { token: new Secret("t"), deep: { token: new Secret("t"), list: [new Secret(1)] } };
    expect(markSecretsLike({ token: "new", deep: { token: "x", list: [1] }, other: 1 }, sent)).toEqual({
      token: new Secret("new"),
      deep: { token: new Secret("x"), list: new Secret([1]) },
      other: 1,
    });
  });

  it("of an unsupported kind cause an error that names the kind", () => {
    const asset = { "4dabf18193072939515e22adb298388d": "c44067f5952c0a294b673a41bacd8c17" };
    expect(() => fromWire({ deep: [asset] })).toThrow("the local engine does not support assets");
  });
});

describe("property paths", () => {
  it.each(["a", "a.b[0].c", 'a["b.c"][1]', '["x y"].z'])(
    "stay the same after parsing and formatting: %s",
    (text) => {
      expect(formatPath(parsePath(text) ?? [])).toBe(text);
    },
  );

  it("in ignoreChanges reset values to the old ones", () => {
    const old = { a: { b: 1, c: 1 }, list: [{ x: 1 }, { x: 2 }], token: new Secret({ k: 1 }) };
    const current = { a: { b: 2, c: 2 }, list: [{ x: 5 }, { x: 6 }], token: new Secret({ k: 2 }), extra: 1 };
    const reset = (...paths: string[]) => resetTo(old, current, paths).inputs;
    expect(reset("a.b")).toMatchObject({ a: { b: 1, c: 2 } });
    expect(reset("list[*].x")).toMatchObject({ list: [{ x: 1 }, { x: 2 }] });
    expect(reset("extra")).not.toHaveProperty("extra");
    expect(reset("token.k")).toMatchObject({ token: new Secret({ k: 1 }) });
    expect(resetTo(old, current, ["list[7].x"]).impossible).toEqual([]);
    expect(resetTo({ a: 1 }, { a: { b: 1 } }, ["a.b"]).impossible).toEqual(["a.b"]);
  });
});

describe("comparing inputs", () => {
  it("finds differences element by element, and treats null as absent", () => {
    const changes = diffMaps({ a: 1, b: [1, 2], c: { d: 1 }, n: null }, { a: 1, b: [1, 3, 4], c: {}, e: 1 });
    expect(detailed(changes)).toEqual({
      "b[1]": { kind: "update", inputDiff: true },
      "b[2]": { kind: "add", inputDiff: true },
      "c.d": { kind: "delete", inputDiff: true },
      e: { kind: "add", inputDiff: true },
    });
    expect(changedKeys(changes)).toEqual(["b", "c", "e"]);
  });
});

describe("the deletion order", () => {
  it("is a component's dependents first, then its children, then the component", () => {
    const state = (urn: string, more: object = {}) => newState({ urn, type: "t", custom: true, ...more });
    const base = state("base");
    const component = state("component", { custom: false });
    const child = state("child", { parent: "component" });
    const user = state("user", { dependencies: ["component"] });
    const all = [base, component, child, user];
    expect(deletionOrder(all, all).map((group) => group.map(({ urn }) => urn))).toEqual([
      ["user"],
      ["child"],
      ["base", "component"],
    ]);
  });
});

describe("aliases", () => {
  it("of a renamed parent also apply to its children", () => {
    const urn = (type: string, name: string) => `urn:pulumi:dev::test::${type}::${name}`;
    const parent = urn("test:Group", "page");
    const of = { urn: urn("test:Group$test:Thing", "page-rules"), parent, aliases: [] };
    expect(aliasUrns(of, new Map([[parent, urn("test:Group", "site")]]))).toEqual([
      urn("test:Group$test:Thing", "site-rules"),
    ]);
  });
});
