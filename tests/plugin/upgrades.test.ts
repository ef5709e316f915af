import * as rpc from "@pulumi/pulumi/proto/provider_pb";
import type { LocalApi } from "edgeguard-local";
import { isWrite } from "../support/is-write";
import { DELETES, onApiOf, recordings } from "../upgrades/recording";
import { plain, PluginClient, struct, urn } from "./client";

/** An engine's conversation about resources that an earlier version of the plugin created. */

describe.each(recordings)(
  "a state of version $version of the plugin",
  ({ surfaces: { plugin: resources } }) => {
    test.each(Object.entries(resources))(
      "with a %s has an empty preview and refresh, and its destroy works",
      async (type, recorded) => {
        const { args, state } = recorded;
        await onApiOf(recorded, async (api) => {
          await during(api, async (plugin) => {
            expect(await plugin.diff(type, "a", state, args)).toMatchObject({ changes: false, replaces: [] });
            const read = new rpc.ReadRequest()
              .setId(state.id)
              .setUrn(urn(type, "a"))
              .setInputs(struct(state.inputs))
              .setProperties(struct(state.outputs));
            const found: rpc.ReadResponse = await plugin.call("read", read);
            expect(found.getId()).toBe(state.id);
            expect(plain(found.getProperties())).toEqual(state.outputs);
          });
          expect(api.requests.filter(isWrite)).toEqual([]);
          await during(api, (plugin) => {
            const destroy = new rpc.DeleteRequest()
              .setId(state.id)
              .setUrn(urn(type, "a"))
              .setProperties(struct(state.outputs));
            return plugin.call("delete", destroy);
          });
          const writes = api.requests.filter(isWrite);
          expect(writes.map(({ method }) => method)).toEqual(DELETES[type] ?? ["DELETE"]);
          expect(writes.filter(({ status }) => status === null || status >= 300)).toEqual([]);
        });
      },
    );
  },
);

/** Runs one operation. A destroy has a process of its own, because no program declares the resource then. */
async function during(api: LocalApi, work: (plugin: PluginClient) => Promise<unknown>): Promise<void> {
  const plugin = await PluginClient.start({ baseUrl: api.url, apiToken: "local-token" });
  try {
    await work(plugin);
  } finally {
    plugin.stop();
  }
}
