import type { Socket } from "node:net";
import { startLocalApi } from "edgeguard-local";
import { z } from "zod";
import { clientOf, envelope, failureOf, serve } from "../support/edge-client";

const schema = z.unknown();
const body = Buffer.alloc(8 * 1024 * 1024, " ");
const REFUSAL = JSON.stringify({
  success: false,
  errors: [{ code: 10413, message: "request entity too large" }],
});

/** Closes only this side, as proxies do: a reset could overtake the response. */
function answerAndClose(socket: Socket, text = REFUSAL): void {
  const head = `HTTP/1.1 413 Payload Too Large\r\ncontent-length: ${REFUSAL.length}\r\nconnection: close\r\n\r\n`;
  socket.end(head + text);
}

const write = (url: string) =>
  failureOf(clientOf(url, { maxRetries: 0 }).client.put("/x", { what: "Writing", schema, body }));

test("reports a refusal that arrives while the request body is still being sent", async () => {
  const server = await serve((request) => {
    let read = 0;
    request.on("data", (chunk: Buffer) => {
      read += chunk.length;
      if (read < 2_000_000 || request.isPaused()) return;
      request.pause();
      answerAndClose(request.socket);
    });
  });
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const failure = await write(server.url);
    expect(failure).toMatchObject({ status: 413, outcome: "notDone" });
    expect(failure.message).toContain(
      "request entity too large [code 10413]. The request body is larger than the plan allows",
    );
  }
});

test("reports a refusal even if only the start of the response arrives", async () => {
  const server = await serve((request) => answerAndClose(request.socket, REFUSAL.slice(0, 20)));
  const failure = await write(server.url);
  expect(failure).toMatchObject({ status: 413, outcome: "notDone" });
  expect(failure.message).toContain(
    "returned 413 Payload Too Large: the connection closed before the rest of the response arrived. The request body is larger than",
  );
});

test.each(["read", "close"] as const)(
  "the local API refuses an oversized body the way a server behind a proxy does (largeBodies: %s)",
  async (largeBodies) => {
    const api = await startLocalApi({ largeBodies, limits: { maxBodyBytes: 1_000_000 } });
    const failure = await write(api.url);
    expect(failure).toMatchObject({ status: 413, outcome: "notDone" });
    expect(failure.message).toContain("request entity too large");
    const accepted = clientOf(api.url).client.get(`/zones/${api.zones.shop}/page_shield`, {
      what: "Reading",
      schema,
    });
    expect(await accepted).toMatchObject({ enabled: true });
    await api.close();
  },
);

describe("a garbled response", () => {
  test.each([
    ["an HTML page", "<html>Sign in</html>"],
    ["truncated JSON", '{"success":true,"res'],
    ["JSON without Cloudflare's envelope", '{"ok":true}'],
    ["an empty body", ""],
  ])("retries a GET after a garbled response (%s)", async (_name, garbled) => {
    const server = await serve((_request, response) => {
      response.end(server.seen.length === 1 ? garbled : envelope("right"));
    });
    expect(await clientOf(server.url).client.get("/x", { what: "Reading", schema })).toBe("right");
  });

  test("describes the response in the error if it's still garbled after the retries", async () => {
    const server = await serve((_request, response) => void response.end("<html>Sign in</html>"));
    const failure = await failureOf(clientOf(server.url).client.get("/x", { what: "Reading", schema }));
    expect(failure.message).toContain(
      "the body is not an API response: no content type, 20 bytes, after 2 attempts",
    );
  });

  test("doesn't retry a PUT after a garbled response, because Cloudflare may have applied the change", async () => {
    const server = await serve((_request, response) => void response.end("<html>"));
    await failureOf(clientOf(server.url).client.put("/x", { what: "Writing", schema, body: {} }));
    expect(server.seen).toHaveLength(1);
  });
});
