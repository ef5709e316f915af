import { z } from "zod";
import { adopt, AdoptionError } from "../../provider/runtime/adoption";
import { Host } from "../../provider/runtime/host";
import { envelope, failureOf, serve, until } from "../support/edge-client";
import { createOnce, pollUntil } from "../../provider/runtime/creation";

const object = z.object({ id: z.string() });

afterEach(() => jest.restoreAllMocks());

interface Script {
  /** Status per POST, the last one for all that follow; 200 makes the object. */
  readonly posts: number[];
  readonly retryAfter?: number;
  /** Status of every look. */
  readonly looks?: number;
  /** The IDs of the objects that a look shows. */
  readonly listed?: readonly string[];
  readonly maxRetries?: number;
  readonly closing?: AbortSignal;
}

/** One creation against a service that answers as the script says. */
async function creation({ posts, retryAfter, looks = 200, listed = [], maxRetries = 3, closing }: Script) {
  const postedAt: number[] = [];
  const warned: string[] = [];
  let waited = 0;
  const server = await serve((request, response) => {
    if (request.method === "GET") {
      response
        .writeHead(looks)
        .end(looks === 200 ? envelope(listed.map((id) => ({ id }))) : '{"success":false,"errors":[]}');
      return;
    }
    const status = posts[Math.min(postedAt.length, posts.length - 1)] ?? 200;
    postedAt.push(waited);
    response.writeHead(status, retryAfter === undefined ? {} : { "retry-after": String(retryAfter) });
    response.end(status === 200 ? envelope({ id: "made" }) : '{"success":false,"errors":[]}');
  });
  const config: Record<string, string> = {
    baseUrl: server.url,
    apiToken: "local-token",
    maxRetries: String(maxRetries),
  };
  jest.spyOn(performance, "now").mockImplementation(() => waited);
  const host = new Host({
    config: (key) => config[key.replace("edgeguard:", "")],
    env: {},
    out: { info: () => undefined, warn: (line) => void warned.push(line) },
    // Waits only where it is to be cut short.
    ...(closing === undefined
      ? { sleep: (ms: number) => Promise.resolve(void (waited += ms)) }
      : { closing }),
  });
  const ctx = host.context("Thing");
  const made = createOnce(ctx, {
    what: "thing 1",
    send: () => ctx.api.post("/things", { what: "Creating thing 1", schema: object }),
    path: "/things",
    id: ({ id }) => id,
    list: () => ctx.api.get("/things", { what: "Listing things", schema: z.array(object) }),
  });
  return { made, postedAt, warned, seen: server.seen };
}

test("retries a create after a 503 if Cloudflare doesn't list the object, and obeys Retry-After", async () => {
  const { made, postedAt } = await creation({ posts: [503, 200], retryAfter: 30 });
  expect(await made).toEqual({ id: "made" });
  expect(postedAt).toEqual([0, 30_000]);
});

test("names all objects that match after a lost response, and uses the first", async () => {
  const { made, postedAt, warned, seen } = await creation({ posts: [500], listed: ["first", "second"] });
  expect(await made).toEqual({ id: "first" });
  expect(postedAt).toHaveLength(1);
  expect(seen).toHaveLength(2);
  expect(warned).toEqual([
    "edgeguard: thing 1: /things has 2 objects that match the program: first, second. The first will be managed. Delete the others if nobody else needs them.",
  ]);
});

test("doesn't wait for a Retry-After of an hour", async () => {
  const { made, postedAt } = await creation({ posts: [503], retryAfter: 3600 });
  expect((await failureOf(made)).message).toContain("Cloudflare asks you to wait 3600 s.");
  expect(postedAt).toHaveLength(1);
});

test("makes no more attempts than the settings allow", async () => {
  const { made, postedAt } = await creation({ posts: [500], maxRetries: 0 });
  expect(await failureOf(made)).toMatchObject({ status: 500, outcome: "unknown" });
  expect(postedAt).toHaveLength(1);
});

test("gives both reasons and an unknown outcome if the lookup after a failed create also fails", async () => {
  const { made } = await creation({ posts: [500], looks: 403 });
  const failure = await failureOf(made);
  expect(failure).toMatchObject({ name: "ApiError", outcome: "unknown", status: 500 });
  expect(failure.message).toMatch(
    /^Creating thing 1 failed: .* Cloudflare may have applied the change\. The follow-up check failed: Listing things failed: .* 403 Forbidden/,
  );
});

test("the outcome is unknown if the lookup after a failed create is cancelled", async () => {
  const controller = new AbortController();
  const { made, seen } = await creation({ posts: [500], closing: controller.signal });
  const failed = failureOf(made);
  await until(() => seen.length === 2);
  controller.abort();
  expect(await failed).toMatchObject({
    name: "CancelledError",
    outcome: "unknown",
    message: expect.stringMatching(
      /^Creating thing 1 failed: .* The follow-up check failed: .* cancelled/,
    ) as string,
  });
});

describe("an existing object", () => {
  const refusals = {
    never: (all: readonly string[]) => `never: ${all.join(", ")}`,
    several: (all: readonly string[], are: string) => `several ${are}: ${all.join(", ")}`,
  };
  const different = (one: string): string => `different: ${one}`;
  const decide = async (
    mode: "ifEqual" | "never" | "takeOver" | undefined,
    { alike, equal, isUnique }: { alike: string[]; equal: string[]; isUnique: boolean },
  ): Promise<string | undefined> =>
    adopt({
      adopt: mode,
      alike,
      equal: () => equal,
      refusals: { ...refusals, ...(isUnique ? { different } : {}) },
    }).catch((error: unknown) =>
      error instanceof AdoptionError ? error.message : Promise.reject(error as Error),
    );

  test.each`
    alike         | equal         | isUnique | ifEqual                  | never                    | takeOver
    ${[]}         | ${[]}         | ${true}  | ${undefined}             | ${undefined}             | ${undefined}
    ${["a"]}      | ${["a"]}      | ${true}  | ${"a"}                   | ${"never: a"}            | ${"a"}
    ${["a"]}      | ${[]}         | ${true}  | ${"different: a"}        | ${"never: a"}            | ${"a"}
    ${["a", "b"]} | ${["a"]}      | ${true}  | ${"several alike: a, b"} | ${"several alike: a, b"} | ${"several alike: a, b"}
    ${["a"]}      | ${[]}         | ${false} | ${undefined}             | ${undefined}             | ${"a"}
    ${["a"]}      | ${["a"]}      | ${false} | ${"a"}                   | ${"never: a"}            | ${"a"}
    ${["a", "b"]} | ${["b"]}      | ${false} | ${"b"}                   | ${"never: b"}            | ${"b"}
    ${["a", "b"]} | ${[]}         | ${false} | ${undefined}             | ${undefined}             | ${"several alike: a, b"}
    ${["a", "b"]} | ${["a", "b"]} | ${false} | ${"several equal: a, b"} | ${"never: a, b"}         | ${"several equal: a, b"}
  `(
    "is chosen by the adopt mode (same name: $alike, equal: $equal, unique names: $isUnique)",
    async ({ alike, equal, isUnique, ...expected }: Row) => {
      const found = { alike, equal, isUnique };
      expect(await decide(undefined, found)).toBe(expected.ifEqual);
      for (const mode of ["ifEqual", "never", "takeOver"] as const)
        expect(await decide(mode, found)).toBe(expected[mode]);
    },
  );

  test("isn't compared with the program if the adopt mode alone decides", async () => {
    const equal = jest.fn(() => ["a"]);
    await adopt({ adopt: "takeOver", alike: ["a"], equal, refusals: { ...refusals, different } });
    expect(equal).not.toHaveBeenCalled();
  });
});

interface Row {
  readonly alike: string[];
  readonly equal: string[];
  readonly isUnique: boolean;
  readonly ifEqual: string | undefined;
  readonly never: string | undefined;
  readonly takeOver: string | undefined;
}

test("reads again with growing pauses until the result is sufficient; after the last pause, returns it anyway", async () => {
  const pauses: number[] = [];
  const ctx = { pause: (ms: number) => Promise.resolve(void pauses.push(ms)) };
  let reading = 0;
  const read = (): Promise<number> => Promise.resolve((reading += 1));
  expect(await pollUntil(ctx, read, (seen) => seen === 3)).toBe(3);
  expect(pauses).toEqual([0, 500, 1_000]);
  expect(await pollUntil(ctx, read, () => false)).toBe(9);
  expect(await pollUntil(ctx, read, () => false, 2)).toBe(11);
});
