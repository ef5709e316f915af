import { report, reportAll } from "../../provider/report";
import { own, planOf, said, type MadePlan } from "./plans";

/** The plans of several stacks in one report. */

const planOfStack = (stack: string, { steps, ...rest }: MadePlan): { name: string; text: string } => ({
  name: `${stack}.json`,
  text: JSON.stringify({
    ...rest,
    steps: steps.map((step) => ({ ...step, urn: step.urn.replace(":dev:", `:${stack}:`) })),
  }),
});
const drops = (name: string): MadePlan => ({
  steps: [
    own("update", "PageShieldSettings", name, {
      old: { zoneId: name, enabled: true },
      new: { zoneId: name, enabled: false },
    }),
  ],
  diagnostics: [said("edgeguard: live checks skipped: offline", "info#err"), said("mind the gap", "warning")],
});
const idle: MadePlan = {
  steps: [own("same", "KvNamespace", "n", { old: { title: "n" }, new: { title: "n" } })],
};
const shop = planOfStack("shop", drops("settings"));
const blog = planOfStack("blog", drops("settings"));

test("sums up, says of which stack a resource is, and tells once what stacks have in common", () => {
  const { text, failed } = reportAll([shop, blog, planOfStack("wiki", idle)], "text", {
    failOn: ["unprotect"],
  });
  expect(failed).toBe(false);
  expect(text).toMatch(
    /^edgeguard: edge\/all stacks\n\n2 to update, 1 unchanged\n\nNote: blog, shop: Not checked .*offline/,
  );
  expect(text.match(/^ {2}- unprotect: PageShieldSettings settings \(\w+\)/gm)).toEqual([
    "  - unprotect: PageShieldSettings settings (blog)",
    "  - unprotect: PageShieldSettings settings (shop)",
  ]);
  expect(text.match(/mind the gap/g)).toHaveLength(1);
  expect(text).toContain("~ PageShieldSettings settings (shop)");
});

test("is the same in whatever order the plans are given", () => {
  expect(reportAll([blog, shop], "json")).toEqual(reportAll([shop, blog], "json"));
});

test("is accepted by its own digest, or by those of its stacks", () => {
  const open = (...accepted: string[]): number =>
    reportAll([shop, blog], "json", { failOn: ["unprotect"], accepted: new Set(accepted) }).dangers.filter(
      ({ verdict }) => verdict === "fails",
    ).length;
  const of = ({ text }: { text: string }): string => report(text, "json").digest ?? "";
  expect(open()).toBe(2);
  expect(open(of(shop))).toBe(1);
  expect(open(of(shop), of(blog))).toBe(0);
  expect(open(reportAll([blog, shop], "json").digest ?? "")).toBe(0);
  expect(open(reportAll([shop, planOfStack("wiki", idle)], "json").digest ?? "")).toBe(2);
});

test("fails with each stack that failed, and can't be accepted then", () => {
  const gone = planOfStack("gone", { ...drops("settings"), diagnostics: [said("no such zone", "error")] });
  const { text, failed, digest } = reportAll([shop, gone], "markdown");
  expect({ failed, digest }).toEqual({ failed: true, digest: undefined });
  expect(text).toContain("### The preview failed\n\n- `gone`: no such zone");
});

test("tells failures that don't say of which stack they are by the names of the plans", () => {
  const text = JSON.stringify({ diagnostics: [said("no such plugin", "error")] });
  const { text: told } = reportAll(
    ["a.json", "b.json"].map((name) => ({ name, text })),
    "text",
  );
  expect(told).toContain("a.json, b.json: no such plugin");
});

test("knows the digest of one of its stacks", () => {
  const { digest = "" } = report(shop.text, "json");
  expect(reportAll([shop, blog], "json").digests).toContain(digest);
  expect(reportAll([blog, planOfStack("wiki", idle)], "json").digests).not.toContain(digest);
});

test("names a plan that can't be read, and refuses two of one stack", () => {
  expect(() => reportAll([shop, { name: "blog.json", text: "{" }], "text")).toThrow(
    /^blog\.json: this is not a plan/,
  );
  expect(() => reportAll([shop, shop], "text")).toThrow("two of the plans are of edge/shop");
  expect(() => reportAll([shop, { ...shop, text: planOf() }], "text")).not.toThrow();
});
