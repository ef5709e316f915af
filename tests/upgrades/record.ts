import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import type { JsonObject } from "../../provider/basics/json";
import { VERSION } from "../../provider/version";
import { PluginClient } from "../plugin/client";
import { Operation, type Recorded } from "../support/operation";
import { SAMPLES } from "../support/samples";
import { leftIn, RECORDINGS, type RecordedResource } from "./recording";

/** Records what this version leaves behind. */

type Create = (api: LocalApi, type: string, args: JsonObject) => Promise<Recorded>;

async function recorded(create: Create): Promise<Record<string, RecordedResource>> {
  const resources: Record<string, RecordedResource> = {};
  for (const [type, sample] of Object.entries(SAMPLES)) {
    const api = await startLocalApi();
    const { args } = sample(api);
    const state = await create(api, type, args);
    resources[type] = { args, state, api: await leftIn(api) };
    await api.close();
  }
  return resources;
}

async function record(): Promise<void> {
  const surfaces = {
    classes: await recorded((api, type, args) => new Operation(api).up(type, args)),
    plugin: await recorded(async (api, type, args) => {
      const plugin = await PluginClient.start({ baseUrl: api.url, apiToken: "local-token" });
      const made = await plugin.create(type, "a", args);
      plugin.stop();
      return made;
    }),
  };
  const text = JSON.stringify({ version: VERSION, surfaces });
  writeFileSync(join(RECORDINGS, `${VERSION}.json`), `${text}\n`);
}

void record();
