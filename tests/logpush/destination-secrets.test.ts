import fc from "fast-check";
import { Quotes } from "../../provider/api/quote";
import { Redactor } from "../../provider/api/redact";
import { omit } from "../../provider/basics/json";
import { Operation } from "../support/operation";
import {
  hideDestination,
  isShownAs,
  maskedDestination,
  shownDestination,
  destinationProblems,
} from "../../provider/logpush/destination-text";
import { LONG } from "../support/long";

/** No part of a destination's credentials is ever shown, whatever characters they contain. */
const ZONE = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";

/** Characters that separate parts of a URL, among letters. */
const secret = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.stringMatching(/^[A-Za-z0-9]{8,12}$/) },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          "@",
          "/",
          ":",
          "?",
          "&",
          "=",
          "%",
          "+",
          "#",
          "@@",
          "//",
          "%40",
          "é",
          '"',
          "\\",
        ),
      },
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((parts) => parts.join(""))
  .filter((text) => text.length >= 8);

/** Destinations with a credential in each possible place. */
const destinations: Readonly<Record<string, (it: string) => string>> = {
  s3: (it) => `s3://logs/http?region=us-east-1&access-key-id=AKIA&secret-access-key=${it}`,
  r2: (it) => `r2://logs?account-id=${ZONE}&access-key-id=${it}&secret-access-key=${it}`,
  gs: (it) => `gs://${it}@logs/http`,
  azure: (it) => `azure://a.blob.core.windows.net/logs?sv=2022&sig=${it}`,
  "https, as a password": (it) => `https://shop:${it}@logs.example.com/in`,
  "https, as a user": (it) => `https://${it}@logs.example.com/in`,
  "https, as a header": (it) => `https://logs.example.com/in?header_Authorization=${it}`,
  splunk: (it) =>
    `splunk://u:${it}@s.example.com?channel=c&insecure-skip-verify=false&header_Authorization=${it}`,
  datadog: (it) => `datadog://d.example.com?header_DD-API-KEY=${it}&header_DD-API-KEY=${it}`,
  sumo: (it) => `sumo://c.sumologic.com/receiver/v1/http/${it}`,
  bq: (it) => `bq://projects/p/datasets/d/tables/t?credentials=base64:${it}`,
  "an unknown scheme": (it) => `pipelines://stream/path?region=x&credentials=${it}`,
  sentinelone: (it) => `sentinelone://s.example.com?header_Authorization=${it}`,
  ibmcl: (it) => `ibmcl://i.example.com?ibm_api_key=${it}`,
  kinesis: (it) => `kinesis://stream?region=us-east-1&access-key-id=AKIA&secret-access-key=${it}`,
};

/** A piece of the credential that is shown, at least 8 letters or digits long. */
function leaked(shown: string, credential: string): string | undefined {
  const words = credential.split(/[^A-Za-z0-9]+/).filter((word) => word.length >= 8);
  return words
    .flatMap((word) => Array.from({ length: word.length - 7 }, (_, at) => word.slice(at, at + 8)))
    .find((piece) => shown.includes(piece));
}

describe.each(Object.entries(destinations))("a credential in a destination (%s)", (_scheme, write) => {
  test.each([
    ["unencoded", (it: string) => it],
    ["encoded", encodeURIComponent],
  ])("never shows the credential in a message when it's %s", (_how, spell) => {
    fc.assert(
      fc.property(secret, (credential) => {
        const text = write(spell(credential));
        const redactor = new Redactor();
        hideDestination(redactor, text);
        const echoed = [text, JSON.stringify(text), encodeURIComponent(text), `bad: ${credential}`];
        const shown = [
          shownDestination(text),
          ...destinationProblems(text).map(({ reason }) => reason),
          ...echoed.map((each) => redactor.redact(each)),
          new Quotes({ secrets: [redactor] }).quote(text.slice(0, 60)),
        ];
        expect(leaked(shown.join("\n"), credential)).toBeUndefined();
      }),
      { numRuns: LONG ? 2000 : 25 },
    );
  });

  it("has a mask instead in a masked destination, which still counts as the same destination", () => {
    fc.assert(
      fc.property(secret, fc.boolean(), (credential, isEncoded) => {
        const text = write(isEncoded ? encodeURIComponent(credential) : credential);
        const masked = maskedDestination(text);
        if (masked === undefined) return; // It isn't clear where the credential ends.
        expect(leaked(masked, credential)).toBeUndefined();
        expect(isShownAs(text, masked)).toBe(true);
      }),
      { numRuns: LONG ? 2000 : 50 },
    );
  });
});

test.each([
  [
    "a password with @",
    "https://u:hunter2@CANARYtail99@logs.example.com/in",
    "https://logs.example.com/in?[secret]",
  ],
  ["a password with /", "https://u:hunter2/CANARYtail99@logs.example.com/in", undefined],
  ["a password with ?", "https://u:hunter2?CANARYtail99@logs.example.com/in", undefined],
  [
    "a password with digits before a /",
    "https://u:1234/CANARYtail99@logs.example.com/in",
    "a hidden destination",
  ],
])("a check never shows %s", async (_what, destinationConf, shown) => {
  const operation = new Operation(
    { url: "http://127.0.0.1:9/client/v4" },
    { config: { "edgeguard:liveChecks": "false" } },
  );
  const { inputs, failures } = await operation.check("LogpushJob", {
    zoneId: ZONE,
    name: "job",
    dataset: "http_requests",
    destinationConf,
  });
  const others = omit(inputs, ["destinationConf"]);
  expect(JSON.stringify([others, failures, operation.said, operation.warned])).not.toMatch(/CANARY|hunter2/);
  expect(others["destinationShown"]).toBe(shown);
  if (shown === undefined)
    expect(failures[0]?.reason).toContain("In a password, write @ / ? # as %40 %2F %3F %23");
});
