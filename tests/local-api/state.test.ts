import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LocalApiStartError, startLocalApi } from "edgeguard-local";
import { callerOf, controlOf, each, idOf, newPolicy, result, start } from "./client";
import { virtualTime } from "../support/virtual-time";
import { folderPerFile } from "../support/bench";

describe("the read lag", () => {
  test("hides writes from reads until it has passed, but never from other writes", async () => {
    let now = Date.parse("2026-10-01T00:00:00Z");
    const api = await start({ readLagMs: 1000, clock: () => new Date(now) });
    const call = callerOf(api);
    const path = `/zones/${api.zones.empty}/page_shield/policies`;

    const id = idOf(await call("POST", path, newPolicy));
    expect(each(await call("GET", path), "id")).toEqual([]);
    expect(await call("GET", `${path}/${id}`)).toMatchObject({ status: 404 });
    now += 600;
    expect(await call("PUT", `${path}/${id}`, { description: "second" })).toMatchObject({ status: 200 });
    now += 600;
    expect(each(await call("GET", path), "description")).toEqual([newPolicy.description]);
    now += 600;
    expect(each(await call("GET", path), "description")).toEqual(["second"]);
  });
});

describe("the rate limit", () => {
  test("is announced in headers; above it, every request with that credential is rejected for a while", async () => {
    let now = 0;
    const api = await start({
      clock: () => new Date(now),
      rateLimit: { requests: 2, windowMs: 10_000, retryAfterSeconds: 30 },
    });
    const settings = `/zones/${api.zones.shop}/page_shield`;
    const get = () => callerOf(api)("GET", settings);

    const first = await get();
    expect(Object.fromEntries(first.headers)).toMatchObject({
      "x-ratelimit-limit": "2",
      "x-ratelimit-remaining": "1",
      "x-ratelimit-reset": "10",
    });
    await get();
    const third = await get();
    expect(third).toMatchObject({ status: 429, body: { success: false, errors: [{ code: 10429 }] } });
    expect(Object.fromEntries(third.headers)).toMatchObject({
      "retry-after": "30",
      "x-ratelimit-remaining": "0",
    });

    now = 20_000;
    expect((await get()).headers.get("retry-after")).toBe("10");
    const other = callerOf(api, { "x-auth-email": "local@example.com", "x-auth-key": "local-key" });
    expect(await other("GET", settings)).toMatchObject({ status: 200 });
    now = 30_000;
    expect(await get()).toMatchObject({ status: 200 });
  });
});

describe("the state", () => {
  test("can be saved, restored and reset", async () => {
    const api = await start();
    const call = callerOf(api);
    const path = `/zones/${api.zones.empty}/page_shield/policies`;
    const before = api.snapshot();
    await call("POST", path, newPolicy);
    const after = api.snapshot();

    api.restore(before);
    expect(each(await call("GET", path), "id")).toEqual([]);
    api.restore(after);
    expect(each(await call("GET", path), "id")).toHaveLength(1);
    api.reset();
    expect(each(await call("GET", path), "id")).toEqual([]);
    expect(api.snapshot()).toEqual(before);
  });

  describe("in a directory", () => {
    const root = folderPerFile("local-api");
    let folder: string;
    let folders = 0;
    beforeEach(() => {
      folder = join(root, `new-${++folders}`, "state");
    });

    test("survives a restart", async () => {
      const first = await start({ persistTo: folder });
      const path = `/zones/${first.zones.empty}/page_shield/policies`;
      const created = await callerOf(first)("POST", path, { ...newPolicy, further: 1 });
      first.detect(first.zones.empty, { scripts: [{ url: "https://new.example/a.js" }] });
      await first.close();

      const second = await start({ persistTo: folder });
      expect(result(await callerOf(second)("GET", `${path}/${idOf(created)}`))).toEqual(result(created));
      const scripts = `/zones/${first.zones.empty}/page_shield/scripts`;
      expect(each(await callerOf(second)("GET", scripts), "url")).toEqual(["https://new.example/a.js"]);
      expect(readdirSync(folder).sort()).toEqual(["in-use.json", "local-api.json"]);
    });

    test("is written once, when the API closes", async () => {
      const api = await start({ persistTo: folder });
      await callerOf(api)("POST", `/zones/${api.zones.empty}/page_shield/policies`, newPolicy);
      expect(readdirSync(folder)).toEqual(["in-use.json"]);
      await api.close();
      expect(readdirSync(folder)).toEqual(["local-api.json"]);
    });

    test("belongs to one process at a time, and the second one is told which process has it", async () => {
      const first = await start({ persistTo: folder });
      await expect(startLocalApi({ persistTo: folder })).rejects.toThrow(
        `Process ${process.pid} already uses ${folder}. End that process first.`,
      );
      await first.close();
      await (await start({ persistTo: folder })).close();
    });

    test.each(["/proc/nope", "/proc/nope/deeper", "/proc", __filename])(
      "prevents the API from starting if it can't write to %s, with a one-sentence error",
      async (path) => {
        const refused = startLocalApi({ persistTo: path });
        await expect(refused).rejects.toThrow(LocalApiStartError);
        await expect(refused).rejects.toThrow(
          /^\S+ can't keep the state \(.*\)\. Choose a directory that you can write to\.$/,
        );
        await expect(refused).rejects.toThrow(`${path} can't keep the state (`);
      },
    );

    test("prevents the API from starting if its file is invalid, with a one-sentence error", async () => {
      await (await start({ persistTo: folder })).close();
      const file = join(folder, "local-api.json");
      for (const text of ["{", '{"version":2}']) {
        writeFileSync(file, text);
        await expect(startLocalApi({ persistTo: folder })).rejects.toThrow(LocalApiStartError);
        await expect(startLocalApi({ persistTo: folder })).rejects.toThrow(
          `${file} is not a valid state of the local API`,
        );
      }
    });
  });
});

describe("the control routes", () => {
  test("show and clear the request log, and don't appear in it", async () => {
    const api = await start();
    const control = controlOf(api);
    await callerOf(api)("GET", `/zones/${api.zones.shop}/page_shield`);
    expect((await control("GET", "/requests")).body).toMatchObject([{ method: "GET", status: 200 }]);
    expect(await control("DELETE", "/requests")).toMatchObject({ status: 204 });
    expect((await control("GET", "/requests")).body).toEqual([]);
  });

  test("save, restore and reset the state", async () => {
    const api = await start();
    const control = controlOf(api);
    const before = (await control("GET", "/state")).body;
    await callerOf(api)("POST", `/zones/${api.zones.empty}/page_shield/policies`, newPolicy);
    expect((await control("GET", "/state")).body).not.toEqual(before);
    expect(await control("PUT", "/state", before)).toMatchObject({ status: 204 });
    expect((await control("GET", "/state")).body).toEqual(before);
    expect(await control("DELETE", "/state")).toMatchObject({ status: 204 });
    expect(await control("PUT", "/state", { version: 9 })).toMatchObject({ status: 400 });
  });
});

describe("the server", () => {
  test("waits before each response if latencyMs is set", async () => {
    const { waits } = virtualTime();
    const api = await start({ latencyMs: 60 });
    await callerOf(api)("GET", `/zones/${api.zones.shop}/page_shield`);
    expect(waits).toEqual([60]);
  });

  test("closes at once, even while a request is waiting, and doesn't apply that request", async () => {
    const api = await start();
    api.fault({ match: {}, kind: "slow", delayMs: 60_000 });
    const waiting = callerOf(api)("PUT", `/zones/${api.zones.shop}/page_shield`, { enabled: false });
    const refused = expect(waiting).rejects.toThrow("fetch failed");
    while (api.requests.length === 0) await sleep(5);
    await api.close();
    await refused;
    expect(api.snapshot().pageShield[api.zones.shop]?.settings.enabled).toBe(true);
  });

  test("fails with a one-sentence error if its port is in use", async () => {
    const api = await start();
    const port = Number(new URL(api.url).port);
    await expect(startLocalApi({ port })).rejects.toThrow(
      `Port ${port} is in use: choose another, or port 0 for a free one.`,
    );
  });
});
