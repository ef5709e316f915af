import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { printable, escapeInvisible } from "../../provider/basics/printable";
import { run } from "../../provider/cli/program";
import { Operation } from "../support/operation";

/** Text from responses, names and files reaches a terminal and a CI log only as text, never as a command. */

const HOSTILE =
  "gone\u001b[2J\u009b31m\r\n::add-mask::password\n  ::error file=a.ts,line=1::broken\n##[group]x\n##vso[task.setvariable variable=a]b\n\u202ereversed<{%fg 1%}>";
const ACCOUNT = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";

/** Whether a terminal, GitHub, Azure or Pulumi would interpret something in it. */
function obeyed(shown: string): string[] {
  return shown
    .split("\n")
    .filter((line) => /[\p{Cc}\u202e]|^\s*::[a-z-]+.*::|##\[|##vso\[|<\{%/u.test(line.replace(/\t/g, "")));
}

let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer((_request, response) => {
    response.writeHead(400, { "content-type": "application/json", "cf-ray": "r\u009bay" });
    response.end(
      JSON.stringify({
        success: false,
        result: null,
        errors: [{ code: 1, message: HOSTILE, source: { pointer: `/${HOSTILE}` } }],
        messages: [HOSTILE],
      }),
    );
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/client/v4`;
});
afterAll(() => server.close());

test("makes a resource's API error and its messages safe to print", async () => {
  const operation = new Operation({ url });
  const { message } = await operation.failedUp("KvNamespace", { accountId: ACCOUNT, title: HOSTILE });
  const said = [...operation.said, ...operation.warned];
  expect(said).toContainEqual(expect.stringContaining("message from the API: gone"));
  expect(message).toContain("gone\\u001b[2J");
  expect(obeyed([message, ...said].join("\n"))).toEqual([]);
  await operation.host.close();
});

test("makes a refused value safe to print", async () => {
  const operation = new Operation({ url });
  const wrong = { zoneId: HOSTILE, enabled: HOSTILE, onDestroy: HOSTILE, [HOSTILE]: 1 };
  const refusals = await operation.refusals("PageShieldSettings", wrong);
  expect(refusals).toHaveLength(4);
  expect(obeyed(refusals.join("\n"))).toEqual([]);
});

test("makes an API error on the command line safe to print", async () => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const env = {
    EDGEGUARD_BASE_URL: url,
    CLOUDFLARE_API_TOKEN: "local-token",
    CLOUDFLARE_ACCOUNT_ID: ACCOUNT,
  };
  const io = { stdin, stdout, stderr, env, cwd: __dirname, interrupted: () => new AbortController().signal };
  const code = await run(["kv", "namespace", "list"], io);
  stderr.end();
  const printed = await text(stderr);
  expect(code).toBe(1);
  expect(printed).toContain("gone\\u001b[2J");
  expect(obeyed(printed)).toEqual([]);
});

test("doesn't change text that only resembles a terminal control sequence", () => {
  for (const plain of ["::1", "::ffff:192.0.2.1", "a::add-mask::b", "## [link]", "<b>", "grüße 👋"])
    expect(escapeInvisible(plain)).toBe(plain);
  expect(printable("first\n  second")).toBe("first\n  second");
  expect(printable("first\n  ::add-mask::second")).toBe("first\n  \\::add-mask::second");
});
