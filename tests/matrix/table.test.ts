import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { REPOSITORY } from "../support/repository";
import { readResult } from "./result";
import { ROWS } from "./rows";

const named = (kind: string): string[] => ROWS.filter((row) => row.kind === kind).map(({ name }) => name);

it("every row passed in the last npm run test:matrix", () => {
  expect(readResult().map(({ kind, name }) => [kind, name])).toEqual(
    ROWS.map(({ kind, name }) => [kind, name]),
  );
});

it("the table includes the oldest Node.js and the oldest SDK that the package supports", () => {
  const manifest = z
    .object({ engines: z.object({ node: z.string() }), peerDependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync(join(REPOSITORY, "provider/package.json"), "utf8")));
  const oldest = (range = ""): string | undefined => /^>=([\d.]+)/.exec(range)?.[1];
  expect(named("Node.js")).toContain(oldest(manifest.engines.node));
  expect(named("Pulumi SDK")).toContain(oldest(manifest.peerDependencies["@pulumi/pulumi"]));
});
