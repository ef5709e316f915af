import { z } from "zod";
import { callerOf, each, start } from "./client";

describe("the list of zones", () => {
  it("has pages of at most 50 zones, and can be filtered by name and account", async () => {
    const api = await start({ zones: 40 });
    const call = callerOf(api);
    const first = await call("GET", "/zones?per_page=50");
    const second = await call("GET", "/zones?per_page=50&page=2");
    const info = z.object({ result_info: z.object({ total_count: z.number(), total_pages: z.number() }) });
    expect(info.parse(first.body).result_info).toEqual({ total_count: 58, total_pages: 2 });
    expect(new Set([...each(first, "id"), ...each(second, "id")]).size).toBe(58);
    expect((await call("GET", "/zones?per_page=51")).status).toBe(400);
    expect(each(await call("GET", "/zones?name=shop.example"), "id")).toEqual([api.zones.shop]);
    expect(each(await call("GET", `/zones?account.id=${"0".repeat(32)}`), "id")).toEqual([]);
  });

  it("contains simulated zones on all plans, which are the same at every start", async () => {
    const [one, other] = [await start({ zones: 60 }), await start({ zones: 60 })];
    expect(one.snapshot()).toEqual(other.snapshot());
    const plans = new Set(one.snapshot().zones.map(({ plan }) => plan));
    expect([...plans].sort()).toEqual(["business", "enterprise", "free", "pro"]);
  });

  it("is rejected if the token may only use other paths", async () => {
    const api = await start({ credentials: [{ token: "jobs-only", paths: /\/logpush\// }] });
    const call = callerOf(api, { authorization: "Bearer jobs-only" });
    expect((await call("GET", "/zones")).status).toBe(403);
    expect((await call("GET", `/zones/${api.zones.shop}/logpush/jobs`)).status).toBe(200);
  });
});
