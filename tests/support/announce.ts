import { LOCAL_ENGINE, pulumiCli } from "edgeguard-local";
import { LONG } from "./long";

/** Says before the first test which engines the engine tests run on. */
export default function announce(): void {
  const onlyLocal = process.env["EDGEGUARD_TEST_ENGINE"] === "local";
  const cli = onlyLocal ? undefined : pulumiCli();
  const why = onlyLocal ? "EDGEGUARD_TEST_ENGINE=local" : "no Pulumi CLI on PATH";
  console.log(
    `\nEngine tests run on ${LOCAL_ENGINE.name}${cli === undefined ? ` (${why})` : ` and on ${cli.name}`}.`,
  );
  if (cli === undefined)
    console.log(
      "Not in this run: saved plans, `get` and the provider plugin's programs, which the local engine refuses. They need the Pulumi CLI.",
    );
  if (!LONG && process.env["EDGEGUARD_TEST"] === undefined)
    console.log(
      "Not in this run: commands that work long, installing and packing the packages, the demo, the examples, imports, interruptions and secrets on an engine, the provider plugin, the policy pack, test runners, the comparison with the SDK and the end of the engine: `npm run test:use` runs them. Most programs on an engine: `npm run test:engine` runs them.",
    );
}
