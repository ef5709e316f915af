import type { Zone } from "../../provider/survey/model";
import { nameOf } from "../../provider/survey/page/columns";
import { sorted } from "../../provider/survey/page/rows";
import { sampleZone } from "../survey/sample";
import { median, type Row } from "./table";

const ZONES = 4_000;
const ROUNDS = 20;

/** What a click on a heading of survey.html sorts. The page makes only the rows near the screen, so this is what grows. */
export async function survey(): Promise<Row[]> {
  const made = Array.from({ length: ZONES }, (_, number) => sampleZone(number));
  // By ID, the names are mixed, which is the most to sort. The page's zones are parsed, which are other objects to an engine.
  const mixed = JSON.stringify(sorted(made, ({ id }) => id));
  const zones = JSON.parse(mixed) as readonly Zone[]; // What was written a line above.
  const names = zones.map(nameOf);
  const many = async (work: () => unknown): Promise<void> => {
    for (let round = 0; round < ROUNDS; round += 1) work();
    await Promise.resolve();
  };
  const ours = (): Promise<void> => many(() => sorted(zones, (zone) => nameOf(zone).toLowerCase()));
  const theirs = (): Promise<void> => many(() => names.toSorted());
  await ours();
  await theirs();
  return [
    {
      what: "sorting 4,000 zones by name",
      ours: (await median(5, ours)) / ROUNDS,
      unit: "ms",
      against: "sorting the bare names",
      theirs: (await median(5, theirs)) / ROUNDS,
      atMost: 3,
    },
  ];
}
