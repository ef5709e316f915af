import { validateResourceOfType, validateStackResourcesOfType } from "@pulumi/policy";
import * as pulumi from "@pulumi/pulumi";
import * as edgeguard from "pulumi-edgeguard";
import { analyze } from "../support/policies";

const CLASSES = Object.entries(edgeguard).filter(
  (entry): entry is [string, typeof edgeguard.KvNamespace] =>
    typeof entry[1] === "function" &&
    entry[1].prototype instanceof pulumi.CustomResource &&
    !(entry[1].prototype instanceof pulumi.ProviderResource),
);

const SURFACES = ["pulumi-nodejs:dynamic/edgeguard:", "edgeguard:index:"];

test("the tests in this file cover every resource class", () => {
  expect(CLASSES.map(([name]) => name)).toHaveLength(8);
});

test.each(CLASSES)("%s.isInstance recognizes its own resources and no others", (name, each) => {
  const type = `pulumi-nodejs:dynamic/edgeguard:${name}`;
  // As @pulumi/policy calls it: not as a method, and with what another copy of the package may have made.
  const isInstance = Reflect.get(each, "isInstance") as (value: unknown) => boolean;
  expect(isInstance({ __pulumiType: type })).toBe(true);
  expect(isInstance({ __pulumiType: `edgeguard:index:${name}` })).toBe(true); // Of the provider plugin's SDK.
  for (const other of [undefined, null, "text", {}, { __pulumiType: "aws:s3/bucket:Bucket" }])
    expect(isInstance(other)).toBe(false);
  for (const [other] of CLASSES.filter(([otherName]) => otherName !== name))
    expect(isInstance({ __pulumiType: `edgeguard:index:${other}` })).toBe(false);
});

test.each(CLASSES.flatMap(([name, each]) => SURFACES.map((prefix) => [`${prefix}${name}`, each] as const)))(
  "a policy typed for the class receives only resources of the type %s, one at a time or all in the stack",
  async (type, each) => {
    const resources = [type, "aws:s3/bucket:Bucket"].map((of) => ({
      type: of,
      urn: `urn:pulumi:dev::shop::${of}::one`,
      props: {},
    }));
    const about = { description: "Typed.", enforcementLevel: "mandatory" } as const;
    const found = await analyze(
      [
        {
          ...about,
          name: "one",
          validateResource: validateResourceOfType(each, (_args, resource, report) => report(resource.type)),
        },
        {
          ...about,
          name: "all",
          validateStack: validateStackResourcesOfType(each, (all, _args, report) => report(`${all.length}`)),
        },
      ],
      resources,
    );
    expect(found.map(({ policy, message }) => [policy, message])).toEqual([
      ["one", type],
      ["all", "1"],
    ]);
  },
);

test("a policy typed for KvEntries can read its arguments and outputs", async () => {
  const props = { prune: { prefix: "a/", maxDeletes: 3 }, keys: 12 };
  const type = "pulumi-nodejs:dynamic/edgeguard:KvEntries";
  const found = await analyze(
    [
      {
        name: "entries",
        description: "Typed.",
        enforcementLevel: "mandatory",
        validateStack: validateStackResourcesOfType(edgeguard.KvEntries, ([entries], _args, report) =>
          report(`${entries?.keys} ${entries?.prune?.maxDeletes}`),
        ),
      },
    ],
    [{ type, urn: `urn:pulumi:dev::shop::${type}::one`, props }],
  );
  expect(found).toMatchObject([{ message: "12 3" }]);
});
