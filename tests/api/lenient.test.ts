import { z } from "zod";
import { upload } from "../../provider/kv/bulk";
import { entryPoint } from "../../provider/rulesets/wire";
import { uploadOf, contextFor, textEntry } from "../kv/upload-support";
import { clientOf, envelope, failureOf, serve } from "../support/edge-client";
import { Operation } from "../support/operation";

const ZONE_ID = "a".repeat(32);
const ACCOUNT_ID = "b".repeat(32);
const NAMESPACE_ID = "c".repeat(32);

const namespace = {
  id: NAMESPACE_ID,
  inputs: { accountId: ACCOUNT_ID, title: "flags" },
  outputs: { accountId: ACCOUNT_ID, title: "flags", fullTitle: "flags", schemaVersion: 1 },
};

/** Answers by method and path; `GET /x` also answers `GET /x?page=1`. */
async function answering(answers: Readonly<Record<string, readonly [number, object]>>) {
  return await serve((request, response) => {
    const asked = `${request.method ?? ""} ${request.url?.replace(/^\/v4/, "").replace(/\?.*/, "") ?? ""}`;
    const [status, body] = answers[asked] ?? [500, { success: false, errors: [{ message: asked }] }];
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  });
}

describe("when a response has no result", () => {
  const gone = { success: false, errors: [{ code: 10013, message: "namespace not found" }] };

  test("treats a deleted object as gone: a refresh removes it from state, and a destroy succeeds", async () => {
    const path = `/accounts/${ACCOUNT_ID}/storage/kv/namespaces/${NAMESPACE_ID}`;
    const server = await answering({
      [`GET ${path}`]: [404, gone],
      [`GET ${path}/keys`]: [404, gone],
      [`DELETE ${path}`]: [404, gone],
    });
    expect(await new Operation(server).refresh("KvNamespace", namespace)).toBeUndefined();
    await new Operation(server).destroy("KvNamespace", namespace);
    expect(server.seen.some((request) => request.startsWith(`GET ${path}/keys`))).toBe(true);
  });

  test("keeps the error code, so that a create can find the existing namespace if the title is taken", async () => {
    const path = `/accounts/${ACCOUNT_ID}/storage/kv/namespaces`;
    const server = await answering({
      [`POST ${path}`]: [400, { success: false, errors: [{ code: 10014, message: "already exists" }] }],
      [`GET ${path}`]: [200, { success: true, result: [{ id: NAMESPACE_ID, title: "flags" }] }],
      [`GET ${path}/${NAMESPACE_ID}/keys`]: [200, { success: true }],
    });
    const recorded = await new Operation(server).up("KvNamespace", { accountId: ACCOUNT_ID, title: "flags" });
    expect(recorded.id).toBe(NAMESPACE_ID);
  });

  test("treats a response without a result as confirmation of a bulk write", async () => {
    const server = await answering({
      [`PUT /accounts/${ACCOUNT_ID}/storage/kv/namespaces/${NAMESPACE_ID}/bulk`]: [
        200,
        { success: true, errors: [], messages: [] },
      ],
    });
    const written: string[] = [];
    const outcome = await upload({
      ctx: contextFor(server).ctx,
      accountId: ACCOUNT_ID,
      namespaceId: NAMESPACE_ID,
      ...uploadOf([textEntry("a", "1"), textEntry("b", "2")]),
      onDone: (rows) => written.push(...rows.map(({ key }) => key)),
    });
    expect({ outcome, written }).toEqual({ outcome: { done: 2, failed: [] }, written: ["a", "b"] });
  });

  test.each([
    ["errors that aren't a list", { errors: "no" }],
    ["an error that isn't an object", { errors: [7, { code: 10013, message: "namespace not found" }] }],
    ["messages that aren't text", { ...gone, messages: [7, { text: "x" }, "said"] }],
    ["invalid paging information", { ...gone, result_info: { page: "one", cursors: 3 } }],
    ["a list as paging information", { ...gone, result_info: [] }],
  ])("a refresh treats a 404 with %s as a deleted object", async (_name, odd) => {
    const server = await answering({
      [`GET /accounts/${ACCOUNT_ID}/storage/kv/namespaces/${NAMESPACE_ID}`]: [
        404,
        { success: false, ...odd },
      ],
    });
    expect(await new Operation(server).refresh("KvNamespace", namespace)).toBeUndefined();
  });
});

describe("when a list has a record that can't be read", () => {
  const record = z.looseObject({ id: z.string(), size: z.number() });
  const odd = { id: "odd", url: "https://a.example/x.js", size: "large", secret: "hunter22" };

  test("returns the other records, and warns about the unreadable one", async () => {
    const list = [{ id: "a", size: 1 }, odd, null, "text", { id: "b", size: 2 }];
    const server = await serve((_request, response) => void response.end(envelope(list)));
    const { client, warnings } = clientOf(server.url);
    const ask = () => client.list("/list", { what: "Listing the scripts", record });
    expect((await ask()).records.map(({ id }) => id)).toEqual(["a", "b"]);
    await ask();
    expect(warnings).toEqual([
      expect.stringMatching(
        /^Listing the scripts: skipped a record that this version of pulumi-edgeguard can't read: id "odd", url "https:\/\/a\.example\/x\.js": size: .*Check for a newer version\.$/,
      ),
      expect.stringContaining(
        "skipped a record that this version of pulumi-edgeguard can't read: item 4 in the list: ",
      ),
    ]);
    expect(warnings.join()).not.toContain("hunter22");
  });

  test("fails if every record is needed, and the error identifies the unreadable record", async () => {
    const server = await serve((_request, response) => void response.end(envelope([odd])));
    const { client } = clientOf(server.url);
    const failure = await failureOf(
      client.list("/list", { what: "Listing the jobs", record, complete: true }),
    );
    expect(failure.message).toContain('id "odd", url "https://a.example/x.js": size: ');
  });

  test("refuses to create a policy if an existing one is unreadable, because it might be the one to adopt", async () => {
    const policies = `/zones/${ZONE_ID}/page_shield/policies`;
    const server = await answering({
      [`GET ${policies}`]: [
        200,
        { success: true, result: [{ id: "d".repeat(32), description: "checkout" }] },
      ],
    });
    const declared = {
      zoneId: ZONE_ID,
      description: "checkout",
      action: "log",
      expression: "true",
      value: "script-src 'self'",
    };
    const { message } = await new Operation(server).failedUp("PageShieldPolicy", declared);
    expect(message).toContain(`id "${"d".repeat(32)}"`);
    expect(server.seen.filter((request) => !request.startsWith("GET"))).toEqual([]);
  });

  test("refuses to delete a namespace that has an unreadable key", async () => {
    const path = `/accounts/${ACCOUNT_ID}/storage/kv/namespaces/${NAMESPACE_ID}`;
    const server = await answering({
      [`GET ${path}/keys`]: [200, { success: true, result: [{ key: "a" }] }],
      [`DELETE ${path}`]: [200, { success: true }],
    });
    await expect(new Operation(server).destroy("KvNamespace", namespace)).rejects.toThrow(
      "item 1 in the list",
    );
    expect(server.seen.filter((request) => !request.startsWith("GET"))).toEqual([]);
  });

  test("keeps the position of a rule that it can't read", () => {
    const rules = [
      { id: "1", action: "execute", expression: "true", action_parameters: { id: "x" } },
      {
        id: "2",
        action: "execute",
        expression: "true",
        action_parameters: { id: "x", overrides: [] },
        kind: 1,
      },
      { action: { new: true }, ref: "mine" },
    ];
    const read = entryPoint.parse({ id: "e", rules });
    expect(read.rules.map(({ id, ref, deploys }) => ({ id, ref, deploys: deploys !== undefined }))).toEqual([
      { id: "1", ref: "1", deploys: true },
      { id: "2", ref: "2", deploys: false },
      { id: "", ref: "mine", deploys: false },
    ]);
    expect(read.rules.map(({ raw }) => raw)).toEqual(rules);
  });
});
