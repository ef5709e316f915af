import type { KvSnapshot } from "./entities";

/** The namespaces that exist at every start. Their IDs never change, so that programs and docs can use them. */
export const namespaces = { existing: "5a0c1e7f3b2d4968a7e1c0f2d3b4b601" } as const;

export type NamespaceName = keyof typeof namespaces;

/** 2100-01-01: later than any test's clock. */
const YEAR_2100 = 4_102_444_800;

export function seeded(): KvSnapshot {
  return {
    namespaces: [
      {
        id: namespaces.existing,
        title: "existing",
        entries: [
          { key: "greeting", value: "Hello" },
          {
            key: "config/checkout",
            value: '{"currency":"EUR","express":true}',
            metadata: { owner: "shop", revision: 3 },
          },
          { key: "feature:new-cart", value: "on", expiration: YEAR_2100 },
          { key: "logo.ico", value: "AAABAAEAEBAAAAEAIABoBAAA//4=", base64: true },
          { key: "straße/münchen", value: "Grüß Gott" },
        ],
      },
    ],
  };
}
