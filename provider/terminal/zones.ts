import { z } from "zod";
import type { EdgeApi } from "../api/client";
import { zonesSeen } from "../api/wrong-zone";
import { CommandError } from "./errors";

/** A zone as Cloudflare lists it. */
export const zoneRecord = z.looseObject({
  id: z.string(),
  name: z.string().nullish(),
  status: z.string().nullish(),
  paused: z.boolean().nullish(),
  plan: z.looseObject({ legacy_id: z.string().nullish() }).nullish(),
  account: z.looseObject({ id: z.string().nullish(), name: z.string().nullish() }).nullish(),
});
export type ZoneRecord = z.infer<typeof zoneRecord>;

/**
 * Finds a zone by its name.
 *
 * @param option the option that names it.
 * @throws CommandError if the token can see no zone with this name, or several.
 */
export async function zoneNamed(
  api: EdgeApi,
  name: string,
  { option, account }: { readonly option: string; readonly account: string | undefined },
): Promise<ZoneRecord> {
  const query = { name, "account.id": account };
  const { records } = await api.list("/zones", { what: `Reading zone ${name}`, record: zoneRecord, query });
  const [first, ...more] = records;
  if (first === undefined) {
    const seen = (await zonesSeen(api, "")) ?? "";
    throw new CommandError(
      `${option}: the token can't see a zone named ${JSON.stringify(name)}. ${seen}`.trimEnd(),
    );
  }
  if (more.length === 0) return first;
  const ids = records.map(({ id, account }) => `${id} (account ${account?.id ?? "unknown"})`).join(", ");
  throw new CommandError(
    `${option}: ${records.length} zones are named ${JSON.stringify(name)}: ${ids}. Write the ID instead of the name, or pass --account.`,
  );
}
