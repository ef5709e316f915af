import { z } from "zod";
import type { ApiRouter } from "../context";
import { readBody } from "../request";
import { BASE_PATH, route } from "../route";
import type { Services } from "../services";
import type * as Query from "./query";

const request = z.object({ query: z.string(), variables: z.record(z.string(), z.unknown()).nullish() });

/**
 * Registers the GraphQL Analytics API, which answers 200 without the envelope, whatever is wrong:
 * https://developers.cloudflare.com/analytics/graphql-api/errors/
 */
export function analyticsRoutes(app: ApiRouter, services: Services): void {
  route(app, `${BASE_PATH}/graphql`, {
    POST: async (c) => {
      const { query, variables } = await readBody(c, request);
      // eslint-disable-next-line @typescript-eslint/no-require-imports -- few runs need its library, which is large
      const { answer } = require("./query") as typeof Query;
      return c.json(await answer(services, query, variables ?? {}));
    },
  });
}
