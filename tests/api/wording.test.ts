import { Operation } from "../support/operation";
import { serve } from "../support/edge-client";

/** Every character that may repeat many times. A pattern that backtracks over one exceeds the time limit. */
const SIGNS = Array.from(" \t\n!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~0aé\u00a0\u2028");
const RUN = 60_000;

/** Lets the test's time limit take effect, which it can't during synchronous work. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 1));

test.each([
  [
    "an error response",
    (text: string) => JSON.stringify({ success: false, errors: [{ code: 1, message: text }] }),
  ],
  [
    "a message",
    (text: string) =>
      JSON.stringify({ success: false, errors: [{ code: 1, message: "no" }], messages: [text] }),
  ],
  ["an HTML page", (text: string) => `<html>${text}`],
])("quickly shortens long runs of one character in %s", async (_name, answerOf) => {
  let sign = "";
  const server = await serve((_request, response) => {
    response.writeHead(400);
    response.end(answerOf(`${sign.repeat(RUN)}x`));
  });
  const recorded = {
    id: "c".repeat(32),
    inputs: {},
    outputs: { accountId: "b".repeat(32), title: "t", fullTitle: "t", schemaVersion: 1 },
  };
  for (sign of SIGNS) {
    const failure = await new Operation(server)
      .refresh("KvNamespace", recorded)
      .catch((error: unknown) => error);
    expect(String(failure)).toContain("returned 400");
    expect(String(failure).length).toBeLessThan(10_000);
  }
  await pause();
});

test("quickly parses a destination with a long run of slashes", async () => {
  const destination_conf = `https://logs.example/${"/".repeat(4 * RUN)}x?header_Authorization=secret`;
  const job = { id: 1, name: "j", dataset: "http_requests", destination_conf };
  const server = await serve(
    (_request, response) => void response.end(JSON.stringify({ success: true, result: job })),
  );
  const zoneId = "a".repeat(32);
  const recorded = {
    id: "1",
    inputs: {},
    outputs: {
      zoneId,
      name: "j",
      dataset: "http_requests",
      destinationConf: "https://logs.example/x",
      schemaVersion: 1,
    },
  };
  expect(await new Operation(server).refresh("LogpushJob", recorded)).toMatchObject({ id: "1" });
  await pause();
});
