import { z } from "zod";
import { ApiError } from "../../provider/api/errors";
import { RateBudget } from "../../provider/api/rate-budget";
import { clientOf, envelope, failureOf, serve } from "../support/edge-client";

/** A request that was judged a moment ago is sent now or not at all: what is true later has to be judged later. */

const options = { what: "Sending it", schema: z.unknown(), body: {}, immediate: true };

test.each([
  ["an answer that a later attempt may better", 503, "unknown"],
  ["a rate limit", 429, "notDone"],
] as const)("is not sent again after %s", async (_what, status, outcome) => {
  const service = await serve((_request, response) => {
    response.writeHead(status, { "retry-after": "0" });
    response.end('{"success":false,"errors":[],"messages":[],"result":null}');
  });
  const { client } = clientOf(service.url, { maxRetries: 5 });
  const failure = await failureOf(client.put("/it", options));
  expect(failure).toBeInstanceOf(ApiError);
  expect(failure).toMatchObject({ status, outcome });
  expect(service.seen).toEqual(["PUT /it"]);
  await client.close();
});

test("does not wait for the rate budget: it is not sent", async () => {
  const service = await serve((_request, response) => void response.end(envelope({})));
  const budget = new RateBudget([]);
  budget.pause(60_000);
  const { client } = clientOf(service.url, { budget });
  const failure = await failureOf(client.put("/it", options));
  expect(failure).toMatchObject({ status: undefined, outcome: "notDone" });
  expect(failure.message).toContain("was not sent");
  expect(service.seen).toEqual([]);
  await client.close();
});

test("is sent where nothing stands in its way", async () => {
  const service = await serve((_request, response) => void response.end(envelope({ taken: true })));
  const { client } = clientOf(service.url);
  expect(await client.put("/it", options)).toEqual({ taken: true });
  await client.close();
});
