import { z } from "zod";
import { ApiError } from "../../provider/api/errors";
import { RateBudget } from "../../provider/api/rate-budget";
import { clientOf, envelope, failureOf, serve } from "../support/edge-client";

/** An immediate request is sent now or not at all, because what allows it was read a moment ago. */

const options = { what: "Sending it", schema: z.unknown(), body: {}, immediate: true };

test.each([
  ["a 503", 503, "unknown"],
  ["a 429", 429, "notDone"],
] as const)("an immediate request isn't retried after %s", async (_what, status, outcome) => {
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

test("an immediate request fails at once instead of waiting for the rate budget", async () => {
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

test("an immediate request is sent if nothing delays it", async () => {
  const service = await serve((_request, response) => void response.end(envelope({ taken: true })));
  const { client } = clientOf(service.url);
  expect(await client.put("/it", options)).toEqual({ taken: true });
  await client.close();
});
