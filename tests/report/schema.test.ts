import { report, reportAll } from "../../provider/report";
import { schemaProblems } from "../support/published";
import { read, RECORDED } from "./plans";

describe("the report as JSON", () => {
  const written = (name: string) =>
    JSON.parse(report(read(`${name}.json`), "json").text) as Readonly<Record<string, unknown>>;

  test.each(RECORDED)("follows its published schema for %s", (name) => {
    expect(schemaProblems("report.v1", written(name))).toEqual([]);
  });

  test("follows its published schema for several stacks", () => {
    const plans = ["created", "imported"].map((name) => ({
      name,
      text: read(`${name}.json`).replaceAll("urn:pulumi:dev", `urn:pulumi:${name}`),
    }));
    expect(schemaProblems("report.v1", JSON.parse(reportAll(plans, "json").text))).toEqual([]);
  });

  test("names the schema that it follows", () => {
    expect(written("created")["$schema"]).toBe("https://unpkg.com/pulumi-edgeguard/schemas/report.v1.json");
    expect(Object.keys(written("created"))[0]).toBe("$schema");
  });

  test("has only members of the schema, and every required one", () => {
    const { title, ...rest } = written("changed");
    expect(schemaProblems("report.v1", { ...rest, title, more: 1 })).toEqual([
      ': must NOT have additional properties {"additionalProperty":"more"}',
    ]);
    expect(schemaProblems("report.v1", rest)).toEqual([
      `: must have required property 'title' {"missingProperty":"title"}`,
    ]);
  });
});
