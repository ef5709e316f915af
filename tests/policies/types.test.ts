import * as pulumi from "@pulumi/pulumi";
import * as edgeguard from "pulumi-edgeguard";

const CLASSES = Object.entries(edgeguard).filter(
  (entry): entry is [string, typeof edgeguard.KvNamespace] =>
    typeof entry[1] === "function" &&
    entry[1].prototype instanceof pulumi.CustomResource &&
    !(entry[1].prototype instanceof pulumi.ProviderResource),
);

test("covers all seven classes", () => {
  expect(CLASSES.map(([name]) => name)).toHaveLength(7);
});

test.each(CLASSES)("%s recognizes its own resources and no others", (name, each) => {
  const type = `pulumi-nodejs:dynamic/edgeguard:${name}`;
  expect(each.__pulumiType).toBe(type);
  // As @pulumi/policy calls it: not as a method, and with what another copy of the package may have made.
  const isInstance = Reflect.get(each, "isInstance") as (value: unknown) => boolean;
  expect(isInstance({ __pulumiType: type })).toBe(true);
  for (const other of [undefined, null, "text", {}, { __pulumiType: "aws:s3/bucket:Bucket" }])
    expect(isInstance(other)).toBe(false);
  for (const [, otherClass] of CLASSES.filter(([otherName]) => otherName !== name))
    expect(isInstance({ __pulumiType: otherClass.__pulumiType })).toBe(false);
});
