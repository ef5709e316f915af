import { LOCAL_ENGINE } from "edgeguard-local";
import { apiPerFile } from "../support/bench";
import { Project } from "../support/engine";
import { TOKEN } from "../support/scenario";
import { COMMON } from "./mistakes";

/** Messages and fixes about the stack's configuration name commands. Running them mends it. */

const api = apiPerFile();
const PROBLEM = /Invalid configuration|is not a setting|stored as plain text|pulumi-edgeguard ignores/;

test.each<[string, ...string[][]]>([
  ["A setting out of range", ["edgeguard:concurrency", "100"]],
  [
    "A token and a key",
    ["--secret", "edgeguard:apiToken", TOKEN],
    ["--secret", "edgeguard:apiEmail", "me@shop.example"],
    ["--secret", "edgeguard:apiKey", "a-key"],
  ],
  ["A misspelled setting", ["edgeguard:maxRetrys", "2"]],
  ["A token stored as plain text", ["edgeguard:apiToken", "a-plain-token"]],
  ["A token in the project's own namespace", ["--secret", "apiToken", "an-old-token"]],
])("the commands for the mistake “%s” mend the configuration", async (title, ...settings) => {
  const project = new Project(LOCAL_ENGINE, "commands");
  try {
    await project.init({ "edgeguard:baseUrl": api.url });
    project.write(
      `import { PageShieldSettings } from "pulumi-edgeguard";\nnew PageShieldSettings("shop", { zoneId: "${api.zones.shop}", enabled: true });`,
    );
    for (const setting of settings) await project.ok("config", "set", ...setting);
    const before = (await project.run("preview")).text;
    expect(before).toMatch(PROBLEM);
    const { fix = "" } = COMMON.find((mistake) => mistake.title === title) ?? {};
    const named = [...`${before}\n${fix}`.matchAll(/pulumi (config (?:set|rm) [^"`\n]+)["`]/g)];
    const commands = new Set(named.map(([, command = ""]) => command));
    expect(commands.size).toBeGreaterThan(0);
    for (const command of commands)
      await project.ok(
        ...command.split(" "),
        ...(command.endsWith("apiToken") && command.includes("set") ? [TOKEN] : []),
      );
    expect((await project.ok("preview")).text).not.toMatch(PROBLEM);
  } finally {
    project.remove();
  }
});
