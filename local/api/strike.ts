import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Next } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { ApiContext } from "./context";
import { ApiFailure } from "./envelope";
import type { Fault } from "./faults";

/** Applies `fault` to the request that it affects. */
export async function strike(
  fault: Fault,
  c: ApiContext,
  next: Next,
  wait: (ms: number) => Promise<void>,
): Promise<Response | undefined> {
  c.set("fault", fault);
  switch (fault.kind) {
    case "status": {
      const { status, code = 10_000 + status, message = `fault: ${status}`, retryAfter } = fault;
      const headers = retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) };
      throw new ApiFailure(contentful(status), { code, message }, headers);
    }
    case "raw": {
      const { status, body, contentType = "text/html; charset=UTF-8" } = fault;
      return c.body(body, contentful(status), { "Content-Type": contentType });
    }
    case "slow":
      if (fault.when !== "after") await wait(fault.delayMs);
      await next();
      if (fault.when === "after") await wait(fault.delayMs);
      return undefined;
    case "dropBefore":
      return hangUp(c);
    case "dropAfter":
      await next();
      replaceResponse(c, hangUp(c));
      return undefined;
    case "truncated":
      await next();
      replaceResponse(c, await sendHalf(c));
      return undefined;
    case "unsuccessful":
    case "emptyPage":
      // The route applies this fault, because it knows the keys.
      await next();
      return undefined;
  }
}

function hangUp(c: ApiContext): Response {
  c.set("sentStatus", null);
  c.env.incoming.socket.destroy();
  return RESPONSE_ALREADY_SENT;
}

async function sendHalf(c: ApiContext): Promise<Response> {
  const { status, headers } = c.res;
  const body = Buffer.from(await c.res.arrayBuffer());
  const { outgoing } = c.env;
  c.set("sentStatus", status);
  outgoing.writeHead(status, { ...Object.fromEntries(headers), "content-length": String(body.length) });
  // Waits for the write, because destroying the socket immediately would also discard the half that was written.
  await new Promise<void>((resolve) => {
    outgoing.write(body.subarray(0, Math.floor(body.length / 2)), () => {
      resolve();
    });
  });
  outgoing.destroy();
  return RESPONSE_ALREADY_SENT;
}

/** Replaces the response. Clears the old one first, because Hono would otherwise merge its headers into the new one. */
function replaceResponse(c: ApiContext, response: Response): void {
  c.res = undefined;
  c.res = response;
}

function contentful(status: number): ContentfulStatusCode {
  // Any three-digit status works; Hono's type lists only the registered ones.
  return status as ContentfulStatusCode;
}
