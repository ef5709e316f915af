import { report, reportAll } from "../../provider/report";
import { diagnostic, found, planJson, stepOf, type MadePlan, kept } from "./plans";

/** One report on the plans of several stacks. */

const planOfStack = (stack: string, { steps, ...rest }: MadePlan): { name: string; text: string } => ({
  name: `${stack}.json`,
  text: JSON.stringify({
    ...rest,
    steps: steps.map((step) => ({ ...step, urn: step.urn.replace(":dev:", `:${stack}:`) })),
  }),
});
const drops = (name: string): MadePlan => ({
  steps: [
    stepOf("update", "PageShieldSettings", name, {
      old: { zoneId: name, enabled: true },
      new: { zoneId: name, enabled: false, ...found({ seen: [], skipped: ["offline"] }) },
    }),
  ],
  diagnostics: [
    diagnostic("edgeguard: live checks skipped: offline", "info#err"),
    diagnostic("mind the gap", "warning"),
  ],
});
const idle: MadePlan = {
  steps: [kept("KvNamespace", "n", { title: "n" })],
};
const shop = planOfStack("shop", drops("settings"));
const blog = planOfStack("blog", drops("settings"));

test("a report on several stacks adds up counts, names each resource's stack, and shows shared messages once", () => {
  const { text, failed } = reportAll([shop, blog, planOfStack("wiki", idle)], "text", {
    failOn: ["unprotect"],
  });
  expect(failed).toBe(false);
  expect(text).toMatch(
    /^edgeguard: edge\/all stacks\n\n2 to update, 1 unchanged\n\nNote: blog, shop: Some live checks were skipped.*offline/,
  );
  expect(text).toContain(
    "  - unprotect: PageShieldSettings settings (blog), PageShieldSettings settings (shop): ",
  );
  expect(text.match(/mind the gap/g)).toHaveLength(1);
  expect(text).toContain("~ PageShieldSettings settings (shop)");
});

test.each([
  [6, "1 more stack"],
  [7, "2 more stacks"],
])("a message from %i stacks names the first five and counts the rest", (count, more) => {
  const plans = Array.from({ length: count }, (_, index) => planOfStack(`s${index}`, drops("settings")));
  expect(reportAll(plans, "text").text).toContain(`s0, s1, s2, s3, s4 and ${more}: `);
});

test("a report on several stacks doesn't depend on the order of the plans", () => {
  expect(reportAll([blog, shop], "json")).toEqual(reportAll([shop, blog], "json"));
});

test("a report on several stacks accepts its own digest or the digests of its stacks", () => {
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

test("a report on several stacks fails and has no digest if one stack's preview failed", () => {
  const gone = planOfStack("gone", {
    ...drops("settings"),
    diagnostics: [diagnostic("no such zone", "error")],
  });
  const { text, failed, digest } = reportAll([shop, gone], "markdown");
  expect({ failed, digest }).toEqual({ failed: true, digest: undefined });
  expect(text).toContain("### The preview failed\n\n- `gone`: no such zone");
});

test("a report on several stacks names the plan file of a failed preview that doesn't name its stack", () => {
  const text = JSON.stringify({ diagnostics: [diagnostic("no such plugin", "error")] });
  const { text: written } = reportAll(
    ["a.json", "b.json"].map((name) => ({ name, text })),
    "text",
  );
  expect(written).toContain("a.json, b.json: no such plugin");
});

test("the digests of a report on several stacks include each stack's own", () => {
  const { digest = "" } = report(shop.text, "json");
  expect(reportAll([shop, blog], "json").digests).toContain(digest);
  expect(reportAll([blog, planOfStack("wiki", idle)], "json").digests).not.toContain(digest);
});

test("a report on several stacks names an unreadable plan, and refuses two plans of one stack", () => {
  expect(() => reportAll([shop, { name: "blog.json", text: "{" }], "text")).toThrow(
    /^blog\.json: this isn't a plan/,
  );
  expect(() => reportAll([shop, shop], "text")).toThrow("two plans are for edge/shop");
  expect(() => reportAll([shop, { ...shop, text: planJson() }], "text")).not.toThrow();
});
