import { apiPerTest } from "../support/bench";
import { engines, Project } from "../support/engine";
import { rawGet } from "../support/operation";
import { TOKEN } from "../support/scenario";

/** What a program ignores is kept as it is, under the name by which the program declares it. */
describe.each(engines().map((engine) => [engine.name, engine] as const))("on %s", (_name, engine) => {
  const api = apiPerTest();
  let project: Project;

  beforeEach(async () => {
    project = new Project(engine, "ignoring");
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    await project.init({ "edgeguard:baseUrl": api.url });
  });
  afterEach(() => project.remove());

  const declare = (url: string): void => {
    project.write(`
      import { destination, LogpushJob } from "pulumi-edgeguard";
      new LogpushJob("it", {
        zoneId: "${api.zones.empty}",
        dataset: "http_requests",
        destination: destination.https({ url: "${url}", headers: { Authorization: "Bearer first-secret" } }),
      }, { ignoreChanges: ["destination"] });`);
  };

  it("with ignoreChanges, changing a LogpushJob's destination shows no change and sends nothing", async () => {
    declare("https://one.example.com/in");
    await project.ok("up", "--yes", "--skip-preview");
    declare("https://two.example.com/in");
    api.clearRequests();
    await project.ok("preview", "--expect-no-changes");
    await project.ok("up", "--yes", "--skip-preview", "--expect-no-changes");
    expect(api.requests).toEqual([]);
    const { result } = await rawGet(api, `/zones/${api.zones.empty}/logpush/jobs`);
    expect(JSON.stringify(result)).toContain("https://one.example.com/in");
  });
});
