import { managedRulesets, startLocalApi } from "edgeguard-local";
import { z } from "zod";
import { controlOf } from "./client";

/** `GET /__local` is how someone who has only the address learns what the local API can do. */

const listed = z.object({
  controls: z.array(
    z.object({
      request: z.string(),
      does: z.string(),
      examples: z.array(z.unknown()).optional(),
    }),
  ),
});

test("every control route in the list accepts its example bodies", async () => {
  const api = await startLocalApi();
  try {
    const control = controlOf(api);
    const { controls } = listed.parse((await control("GET", "")).body);
    const ids: Readonly<Record<string, string>> = {
      zoneId: api.zones.migrateEnterprise,
      rulesetId: managedRulesets.owasp,
    };
    expect(controls.length).toBeGreaterThan(8);
    for (const { request, examples = [{}] } of controls) {
      const [method = "", template = ""] = request.split(" ");
      const path = template
        .replace(/^\/__local/, "")
        .replace(/\{(\w+)\}/g, (all, name: string) => ids[name] ?? all);
      if (method === "PUT" && path === "/state") continue; // A whole state; tested beside this.
      for (const example of examples) {
        const { status } = await control(method, path, method === "GET" ? undefined : example);
        expect({ request, example, status, fits: [200, 204].includes(status) }).toMatchObject({ fits: true });
      }
    }
  } finally {
    await api.close();
  }
});

test("the error for an unknown control route says where to find the list of routes", async () => {
  const api = await startLocalApi();
  try {
    const { status, body } = await controlOf(api)("POST", "/fault", {});
    expect({ status, body }).toMatchObject({
      status: 404,
      body: {
        errors: [
          {
            message:
              "POST /__local/fault is not a control route of the local API. GET /__local lists the control routes.",
          },
        ],
      },
    });
  } finally {
    await api.close();
  }
});
