import { readZone } from "../../provider/import/zones";
import { Host } from "../../provider/runtime/host";
import { serve } from "../support/edge-client";

const ID = "0da42c8d2132a9ddaf714f9e7c920711";

async function read(status: number, body: unknown): Promise<unknown> {
  const server = await serve((_request, response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  const config = new Map([
    ["edgeguard:baseUrl", server.url],
    ["edgeguard:apiToken", "local-token"],
    ["edgeguard:maxRetries", "0"],
  ]);
  const host = new Host({ config: (key) => config.get(key), env: {} });
  try {
    return await readZone(host, ID, undefined);
  } finally {
    await host.close();
  }
}

const envelope = (result: unknown): unknown => ({ success: true, errors: [], messages: [], result });

describe("readZone", () => {
  it("returns the zone's name and account if the token may read it", async () => {
    const account = { id: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1" };
    expect(await read(200, envelope({ id: ID, name: "shop.example\n", account }))).toEqual({
      id: ID,
      name: "shop.example",
      what: "zone shop.example",
      accountId: account.id,
    });
  });

  it.each([
    [
      403,
      {
        success: false,
        errors: [{ code: 10000, message: "Authentication error" }],
        messages: [],
        result: null,
      },
    ],
    [200, envelope({})],
  ])("falls back to the zone's ID if the token can't read the zone (status %i)", async (status, body) => {
    expect(await read(status, body)).toMatchObject({
      what: `zone ${ID}`,
      name: undefined,
      accountId: undefined,
    });
  });

  it("fails if the API fails", async () => {
    await expect(read(503, { success: false, errors: [], messages: [], result: null })).rejects.toThrow(
      "503",
    );
  });
});
