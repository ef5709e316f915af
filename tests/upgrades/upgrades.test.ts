import { statSync } from "node:fs";
import { join } from "node:path";
import { Operation, refreshedInputs } from "../support/operation";
import { SAMPLES } from "../support/samples";
import { isWrite } from "../support/is-write";
import { DELETES, onApiOf, RECORDINGS, recordings } from "./recording";

/** The states of earlier versions. tests/plugin/upgrades has those of the plugin. */

describe.each(recordings)("a state of version $version", ({ surfaces: { classes } }) => {
  test.each(Object.entries(classes))(
    "with a %s has an empty preview and refresh, and its destroy works",
    async (type, recorded) => {
      await onApiOf(recorded, async (api) => {
        const { args, state } = recorded;
        expect(await new Operation(api).preview(type, args, state)).toMatchObject({ step: "same" });
        const refreshed = await new Operation(api).refresh(type, state);
        expect(refreshed).toEqual({ ...state, inputs: refreshedInputs(state) });
        expect(api.requests.filter(isWrite)).toEqual([]);
        await new Operation(api).destroy(type, state);
        const writes = api.requests.filter(isWrite);
        expect(writes.map(({ method }) => method)).toEqual(DELETES[type] ?? ["DELETE"]);
        expect(writes.filter(({ status }) => status === null || status >= 300)).toEqual([]);
      });
    },
  );

  test("is there for every resource of that version", () => {
    expect(Object.keys(SAMPLES)).toEqual(expect.arrayContaining(Object.keys(classes)));
    expect(Object.keys(classes).length).toBeGreaterThanOrEqual(8);
  });
});

test("recordings take at most 300 KB", () => {
  const sizes = recordings.map(({ version }) => statSync(join(RECORDINGS, `${version}.json`)).size);
  expect(sizes.length).toBeGreaterThan(0);
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(300_000);
});
