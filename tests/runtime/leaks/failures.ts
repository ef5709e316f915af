import { text } from "node:stream/consumers";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { LocalApi } from "edgeguard-local";

/** The local API behind a proxy that answers some requests with what they sent, and with what the API answered. */

const JSON_TYPE = "application/json";

interface Answer {
  readonly status: number;
  readonly text: string;
}

interface Failed {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** A response that repeats the request and the API's answer. */
export type Failure = (sent: string, answer: Answer) => Failed;

/** What a service may say about what it has: whole, cut, encoded, and in a URL. */
function repeated(sent: string, answer: string, canaries: readonly string[]): string[] {
  const found = canaries.filter((canary) => `${sent}${answer}`.includes(canary));
  return [
    `cannot use ${sent} beside ${answer}`,
    ...found.flatMap((canary) => [
      `cannot use "${canary}"`,
      `cannot use ${canary.slice(0, 12)}... here`,
      `not ${encodeURIComponent(canary)} or ${Buffer.from(canary).toString("base64")}`,
      `https://x.example/?key=${canary}`,
    ]),
  ];
}

/** @param canaries what the failures repeat. */
export function failuresOf(canaries: readonly string[]): ReadonlyMap<string, Failure> {
  const said = (sent: string, { text }: Answer): string[] => repeated(sent, text, canaries);
  const failures = new Map<string, Failure>();
  for (const status of [400, 403, 500]) {
    failures.set(`errors with ${status}`, (sent, answer) => ({
      status,
      type: JSON_TYPE,
      body: JSON.stringify({
        success: false,
        errors: said(sent, answer).map((message) => ({
          code: 1001,
          message,
          source: { pointer: `/${message}` },
        })),
      }),
    }));
    failures.set(`plain text with ${status}`, (sent, answer) => ({
      status,
      type: "text/plain",
      body: said(sent, answer).join("\n"),
    }));
  }
  failures.set("an HTML page", (sent, answer) => ({
    status: 502,
    type: "text/html",
    body: `<html><title>No ${said(sent, answer).at(-3) ?? ""}</title>${sent}${answer.text}</html>`,
  }));
  failures.set("cut JSON", (sent, { text }) => ({
    status: 200,
    type: JSON_TYPE,
    body: `${text.slice(0, -9)}${sent}`,
  }));
  failures.set("another shape", (sent, answer) => ({
    status: 200,
    type: JSON_TYPE,
    body: JSON.stringify({
      success: true,
      result: { [canaries[0] ?? ""]: sent, [canaries[1] ?? ""]: answer.text, result: said(sent, answer) },
    }),
  }));
  failures.set("messages", (sent, answer) => ({
    status: answer.status,
    type: JSON_TYPE,
    body: answer.text.startsWith("{")
      ? JSON.stringify({ ...(JSON.parse(answer.text) as object), messages: said(sent, answer) })
      : answer.text,
  }));
  return failures;
}

/** Which requests fail, counted from 0, and how. */
export interface Plan {
  readonly failure: Failure;
  readonly fails: (request: number) => boolean;
}

export class FailingApi {
  #plan: Plan | undefined;
  #requests = 0;

  private constructor(
    readonly url: string,
    readonly close: () => void,
  ) {}

  static async inFrontOf(api: LocalApi): Promise<FailingApi> {
    const server = createServer((request, response) => {
      void (async () => {
        const plan = proxy.#plan;
        const number = proxy.#requests++;
        const sent = await text(request);
        const answer = await fetch(api.url + (request.url ?? "").replace(/^\/v4/, ""), {
          method: request.method ?? "",
          headers: {
            authorization: "Bearer local-token",
            ...(sent === "" ? {} : { "content-type": JSON_TYPE }),
          },
          ...(sent === "" ? {} : { body: sent }),
        });
        const given = { status: answer.status, text: await answer.text() };
        const { status, type, body }: Failed =
          plan?.fails(number) === true
            ? plan.failure(sent, given)
            : { status: given.status, type: JSON_TYPE, body: given.text };
        const date = answer.headers.get("date") ?? "";
        response.writeHead(status, { "content-type": type, "cf-ray": "8f1-FRA", date });
        response.end(status === 204 ? undefined : body);
      })();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const proxy = new FailingApi(`http://127.0.0.1:${port}/v4`, () => {
      server.close();
      server.closeAllConnections();
    });
    return proxy;
  }

  /** Runs an action while requests fail as planned. Returns how many requests it sent. */
  async during(plan: Plan | undefined, act: () => Promise<void>): Promise<number> {
    [this.#plan, this.#requests] = [plan, 0];
    try {
      await act();
    } finally {
      this.#plan = undefined;
    }
    return this.#requests;
  }
}
