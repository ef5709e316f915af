import type { ApiRouter } from "../context";
import { failures } from "../envelope";
import { CONTROL_PATH } from "../paths";
import { readBody, readId } from "../request";
import { effectiveWaf } from "./effective";
import { nextVersion } from "./entities";
import { managedToWire } from "./formatters";
import type { Services } from "../services";

/** What is not the vendor's: new versions as the vendor would publish them, and what works in a zone. */
export function rulesetControlRoutes(app: ApiRouter, { state }: Services): void {
  app.get(`${CONTROL_PATH}/zones/:zoneId/effective-waf`, (c) => {
    const zoneId = readId(c, "zoneId");
    if (state.zone(zoneId) === undefined) throw failures.notFound(`zone ${zoneId}`);
    const { rulesets } = state;
    return c.json(effectiveWaf(rulesets.latest(zoneId), rulesets.catalog));
  });

  app.post(`${CONTROL_PATH}/rulesets/:rulesetId/versions`, async (c) => {
    const next = await readBody(c, nextVersion);
    return c.json(managedToWire(state.rulesets.publish(readId(c, "rulesetId"), next)));
  });
}
