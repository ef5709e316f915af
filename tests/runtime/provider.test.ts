import * as pulumi from "@pulumi/pulumi";
import {
  getPageShieldSettings,
  getPageShieldSettingsOutput,
  Provider,
  type ProviderArgs,
} from "pulumi-edgeguard";
import { envelope, failureOf, serve } from "../support/edge-client";

const TOKEN = "c4naryT0kenZq7xKw2mVp9rTb";
const ACCOUNT = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";

/** What the engine was sent: in its wire form, which marks secrets. */
const sent = new Map<string, unknown>();

async function startProgram(preview = true): Promise<void> {
  sent.clear();
  const newResource = ({ name, inputs, type }: pulumi.runtime.MockResourceArgs) => {
    sent.set(`${type} ${name}`, inputs);
    return { id: "0".repeat(32), state: inputs as Record<string, unknown> };
  };
  await pulumi.runtime.setMocks({ newResource, call: () => ({}) }, "site", "dev", preview);
}
beforeEach(() => startProgram());

/** The inputs of a provider that's registered. */
async function registered(args: ProviderArgs): Promise<unknown> {
  const provider = new Provider("eu", args);
  await new Promise((done) => provider.urn.apply(done));
  return sent.get("pulumi:providers:pulumi-nodejs eu");
}

const refusalOf = async (args: object): Promise<string> =>
  (await failureOf(registered(args))).message.replace(/^edgeguard: /, "");

/** A secret in the engine's wire form. */
const secret = (value: string) => ({
  "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
  value,
});

test("a provider's arguments are strings, and its credential is a secret even if it was given as plain text", async () => {
  const args = { apiToken: TOKEN, accountId: ACCOUNT, maxRetries: 0, liveChecks: pulumi.output(false) };
  expect(await registered(args)).toEqual({
    "edgeguard:provider": "eu",
    "edgeguard:apiToken": secret(TOKEN),
    "edgeguard:accountId": ACCOUNT,
    "edgeguard:maxRetries": "0",
    "edgeguard:liveChecks": "false",
  });
  await startProgram();
  expect(
    await registered({ apiToken: pulumi.output(Promise.resolve(TOKEN)), requestsPerSecond: 0.5 }),
  ).toEqual({
    "edgeguard:provider": "eu",
    "edgeguard:apiToken": secret(TOKEN),
    "edgeguard:requestsPerSecond": "0.5",
  });
  await startProgram();
  expect(await registered({ apiEmail: "a@b.example", apiKey: pulumi.output(TOKEN) })).toEqual({
    "edgeguard:provider": "eu",
    "edgeguard:apiEmail": secret("a@b.example"),
    "edgeguard:apiKey": secret(TOKEN),
  });
});

test("a preview accepts an empty token, as in pull requests from forks, but an update refuses it", async () => {
  expect(await registered({ apiToken: "" })).toMatchObject({ "edgeguard:apiToken": secret("") });
  await startProgram(false);
  const refusal = await refusalOf({ apiToken: "" });
  expect(refusal).toMatch(
    /^An update needs credentials, and apiToken of Provider "eu" is empty\. Pass a token/,
  );
});

test.each<[object, RegExp]>([
  [
    {},
    /^Provider "eu" has no credential, and doesn't use those in .* Pass apiToken, or apiEmail and apiKey\.$/,
  ],
  [{ apiEmail: "a@b.example" }, /^Provider "eu" has no credential/],
  [{ apitoken: TOKEN }, /^Provider "eu" has no argument "apitoken"\. Did you mean "apiToken"\?$/],
  [
    { apiToken: TOKEN, region: "eu" },
    /^Provider "eu" has no argument "region"\. Valid arguments: apiToken, /,
  ],
  [
    { apiToken: TOKEN, apiEmail: "a@b.example", apiKey: "k" },
    /^Invalid arguments of Provider "eu": apiToken is set along with apiEmail or apiKey: keep one kind of credential, and remove the other\.$/,
  ],
  [
    { apiToken: TOKEN, maxRetries: 99, concurrency: 0 },
    /: maxRetries is "99" but must be a whole number from 0 to 20; concurrency is "0" but/,
  ],
  [{ apiToken: TOKEN, accountId: "mine" }, /accountId is "mine" but must be an account ID/],
  [{ apiToken: `${TOKEN}\nx` }, /^Invalid arguments of Provider "eu": apiToken contains a space, line break/],
])("refuses %p", async (args, message) => {
  const refusal = await refusalOf(args);
  expect(refusal).toMatch(message);
  expect(refusal).not.toContain(TOKEN);
});

describe("a lookup with a provider", () => {
  const zoneId = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";
  /** The credentials that the API got. */
  const got: (string | undefined)[] = [];
  let args: ProviderArgs;

  beforeEach(async () => {
    got.length = 0;
    const { url } = await serve((request, response) => {
      got.push(request.headers.authorization);
      response.end(envelope({ enabled: true }));
    });
    args = { apiToken: TOKEN, baseUrl: url };
    pulumi.runtime.setAllConfig({ "edgeguard:baseUrl": url, "edgeguard:apiToken": "other" }, [
      "edgeguard:apiToken",
    ]);
  });
  afterEach(() => pulumi.runtime.setAllConfig({}));

  test("uses the provider's settings and token in both forms, and the result isn't secret", async () => {
    const provider = new Provider("eu", { ...args, apiToken: pulumi.secret(TOKEN) });
    expect((await getPageShieldSettings({ zoneId }, { provider })).enabled).toBe(true);
    const found = getPageShieldSettingsOutput({ zoneId }, { provider });
    expect(await pulumi.isSecret(found)).toBe(false);
    await getPageShieldSettings({ zoneId });
    expect(got).toEqual([`Bearer ${TOKEN}`, `Bearer ${TOKEN}`, "Bearer other"]);
  });

  test("fails if the provider has an unknown argument, unless the lookup is in its output form", async () => {
    const provider = new Provider("eu", { ...args, apiToken: unknownText() });
    const failure = await failureOf(getPageShieldSettings({ zoneId }, { provider }));
    expect(failure.message).toMatch(/a lookup's provider has an argument that's unknown in this preview/);
    const found = getPageShieldSettingsOutput({ zoneId }, { provider });
    expect(await pulumi.isSecret(found)).toBe(false);
    expect(got).toEqual([]);
  });

  test("fails if it also has config", async () => {
    const options = { provider: new Provider("eu", args), config: { apiToken: "other" } };
    const failure = await failureOf(getPageShieldSettings({ zoneId }, options));
    expect(failure.message).toBe("edgeguard: a lookup has both config and provider: pass only one of them.");
    expect(got).toEqual([]);
  });
});

/** What a preview has for the output of a resource that isn't created yet. */
const unknownText = (): pulumi.Output<string> => pulumi.output("").apply(() => pulumi.unknown as string);
