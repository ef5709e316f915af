import { report } from "../../provider/report";
import { read, RECORDED } from "./plans";

/** A plan of the provider plugin's resources is judged as a plan of the classes. */

const asPlugin = (plan: string): string =>
  plan
    .replaceAll("pulumi-nodejs:dynamic/edgeguard:", "edgeguard:index:")
    .replaceAll("pulumi:providers:pulumi-nodejs", "pulumi:providers:edgeguard");

test.each(RECORDED)(
  "recorded plan %s produces the same report and dangers for the plugin as for the classes",
  (name) => {
    const plan = read(`${name}.json`);
    expect(judged(asPlugin(plan))).toEqual(judged(plan));
  },
);

/** The report in each form, or why there's none. */
function judged(plan: string): unknown {
  try {
    return (["markdown", "text", "json"] as const).map((form) => report(plan, form));
  } catch (error) {
    return String(error);
  }
}
