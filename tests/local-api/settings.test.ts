import type { Dialect, LocalApi } from "edgeguard-local";
import { apiPerTest } from "../support/bench";
import { callerOf, result, start } from "./client";

describe.each<[Dialect, string, string]>([
  ["documented", "use_platform_reporting_endpoint", "use_cloudflare_reporting_endpoint"],
  ["openapi", "use_cloudflare_reporting_endpoint", "use_platform_reporting_endpoint"],
])("the settings API in the %s dialect", (dialect, reporting, foreign) => {
  const api = apiPerTest({ dialect, clock: () => new Date("2026-10-01T12:00:00.123Z") });
  const call = callerOf(api);
  const pathOf = (zone: keyof LocalApi["zones"]) => `/zones/${api.zones[zone]}/page_shield`;

  test("starts with Page Shield off and Cloudflare's reporting endpoint", async () => {
    expect((await call("GET", pathOf("empty"))).body).toMatchObject({
      success: true,
      result: { enabled: false, [reporting]: true, use_connection_url_path: false },
    });
  });

  test("changes only the settings that were sent, and updates updated_at", async () => {
    await call("PUT", pathOf("shop"), { [reporting]: false });
    await call("PUT", pathOf("shop"), { use_connection_url_path: true });
    expect(result(await call("GET", pathOf("shop")))).toEqual({
      enabled: true,
      updated_at: "2026-10-01T12:00:00.123000Z",
      [reporting]: false,
      use_connection_url_path: true,
    });
  });

  test("returns the dialect's properties after an update", async () => {
    const members = ["enabled", "updated_at"];
    const all = dialect === "documented" ? members : [...members, reporting, "use_connection_url_path"];
    expect(Object.keys(result(await call("PUT", pathOf("shop"), { enabled: true })))).toEqual(all);
  });

  test("ignores the other dialect's name for the reporting setting", async () => {
    expect(await call("PUT", pathOf("shop"), { [foreign]: false })).toMatchObject({ status: 200 });
    expect(result(await call("GET", pathOf("shop")))).toMatchObject({ [reporting]: true });
  });

  test("rejects a setting that isn't a boolean, with a pointer to it", async () => {
    expect(await call("PUT", pathOf("shop"), { enabled: "true" })).toMatchObject({
      status: 400,
      body: { success: false, result: null, errors: [{ code: 10001, source: { pointer: "/enabled" } }] },
    });
  });

  test("requires a paid plan for settings, and an Enterprise plan for custom report endpoints and connection paths", async () => {
    const notEntitled = { status: 403, body: { success: false, errors: [{ code: 10010 }] } };
    expect(await call("PUT", pathOf("small"), { [reporting]: false })).toMatchObject(notEntitled);
    expect(await call("PUT", pathOf("blog"), { use_connection_url_path: true })).toMatchObject(notEntitled);
    expect(await call("PUT", pathOf("small"), { enabled: true, [reporting]: true })).toMatchObject({
      status: 200,
    });
    expect(await call("GET", pathOf("free"))).toMatchObject(notEntitled);
  });
});

test("in strict mode, the settings API rejects the other dialect's name for the reporting setting", async () => {
  const api = await start({ strict: true });
  const body = { use_platform_reporting_endpoint: false };
  expect(await callerOf(api)("PUT", `/zones/${api.zones.shop}/page_shield`, body)).toMatchObject({
    status: 400,
    body: { errors: [{ source: { pointer: "/use_platform_reporting_endpoint" } }] },
  });
});
