import { aliasUrns } from "../../local/engine/aliases";
import { diffMaps } from "../../local/engine/diff";
import { deletionOrder } from "../../local/engine/graph";
import { formatPath, resetTo } from "../../local/engine/paths";
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

describe("ignoreChanges", () => {
  const old = { a: { b: 1, c: 1 }, list: [{ x: 1 }], token: new Secret({ k: 1 }) };
  const current = { a: { b: 2, c: 2 }, list: [{ x: 5 }], token: new Secret({ k: 2 }), extra: 1 };

  it("resets properties, and properties of objects, to their old values", () => {
    expect(resetTo(old, current, ["a.b", "list", "token", "extra", "none.at.all"])).toEqual({
      ...old,
      a: { b: 1, c: 2 },
    });
  });

  it.each(["list[0].x", "token.k", "a.b.c", "*"])("rejects the path %s by name", (path) => {
    expect(() => resetTo(old, current, [path])).toThrow(
      `the local engine does not support ignoreChanges: ${JSON.stringify(path)}`,
    );
  });
});

describe("comparing inputs", () => {
  it("finds differences element by element, and treats null as absent", () => {
    const changes = diffMaps({ a: 1, b: [1, 2], c: { d: 1 }, n: null }, { a: 1, b: [1, 3, 4], c: {}, e: 1 });
    expect(changes.map(({ path, kind }) => `${kind} ${formatPath(path)}`)).toEqual([
      "update b[1]",
      "add b[2]",
      "delete c.d",
      "add e",
    ]);
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
