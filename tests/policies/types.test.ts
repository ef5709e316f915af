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

test("the tests in this file cover every resource class", () => {
  expect(CLASSES.map(([name]) => name)).toHaveLength(8);
});

test.each(CLASSES)("%s.isInstance recognizes its own resources and no others", (name, each) => {
  const type = `pulumi-nodejs:dynamic/edgeguard:${name}`;
  expect(each.__pulumiType).toBe(type);
  // As @pulumi/policy calls it: not as a method, and with what another copy of the package may have made.
  const isInstance = Reflect.get(each, "isInstance") as (value: unknown) => boolean;
  expect(isInstance({ __pulumiType: type })).toBe(true);
  expect(isInstance({ __pulumiType: `edgeguard:index:${name}` })).toBe(true); // Of the provider plugin's SDK.
  for (const other of [undefined, null, "text", {}, { __pulumiType: "aws:s3/bucket:Bucket" }])
    expect(isInstance(other)).toBe(false);
  for (const [, otherClass] of CLASSES.filter(([otherName]) => otherName !== name))
    expect(isInstance({ __pulumiType: otherClass.__pulumiType })).toBe(false);
});

test.each(CLASSES)(
  "a policy typed for %s receives only resources of that class, one at a time or all in the stack",
  async (name, each) => {
    const type = `pulumi-nodejs:dynamic/edgeguard:${name}`;
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
  const type = edgeguard.KvEntries.__pulumiType;
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
