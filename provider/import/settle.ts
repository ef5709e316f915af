import { forwarder } from "../runtime/forwarder";
import { Host } from "../runtime/host";
import { canonicalJson, isJsonObject, sameJson, type JsonObject } from "../runtime/values";
import type { Draft, Drafting } from "./draft";
import type { Found } from "./found";
import type { Reading } from "./reading";

/** A declaration with what the state is to hold of it: the preview after the import finds nothing to do. */
export interface Settled extends Draft {
  readonly inputs: JsonObject;
  readonly outputs: JsonObject;
}

/**
 * Asks the resource itself, as an engine will: its `check` gives the inputs, its `diff` has to find no difference from
 * what was read. What does not pass is left out with the reason, so that the import never promises what the preview does
 * not keep.
 */
export async function settle(reading: Reading, drafting: Drafting): Promise<Settled[]> {
  const settled = new Map<Found, Settled>();
  const claims = new Map<string, Found>();
  const host = offline();
  try {
    for (const found of reading.found) {
      const draft = drafting.draft(found, (other) => settled.has(other));
      const { resource, id, what, recordedAs = {} } = found;
      const written = isJsonObject(draft.args.value) ? plain(draft.args.value) : {};
      const news = { ...(found.handedOn?.(written) ?? written), __provider: forwarder(resource.type) };
      const { inputs: checked, failures } = await resource.verbs.check(host, {}, news);
      const [failure] = failures;
      if (failure !== undefined) {
        reading.leave(what, failure.reason);
        continue;
      }
      const inputs = { ...plain(checked), ...recordedAs };
      const key = `${resource.type} ${found.claim ?? canonicalJson(inputs)}`;
      const twin = claims.get(key);
      if (twin !== undefined) {
        reading.leave(
          what,
          `a program would take it for ${twin.what}, as nothing that is declared tells them apart`,
        );
        continue;
      }
      const read = plain(found.outputs);
      const { changes } = await resource.verbs.diff(host, id, read, {
        ...inputs,
        __provider: news.__provider,
      });
      if (changes) {
        reading.leave(what, `it would show as a change at once, in ${differences(inputs, read)}`);
        continue;
      }
      claims.set(key, found);
      // As after an `up`: outputs hold every argument in the form in which it was declared.
      settled.set(found, { ...draft, inputs, outputs: { ...read, ...inputs } });
    }
  } finally {
    await host.close();
  }
  return [...settled.values()];
}

/** A host that asks nobody and says nothing. */
function offline(): Host {
  const config = new Map([["edgeguard:liveChecks", "false"]]);
  const silent = (): void => undefined;
  return new Host({ config: (key) => config.get(key), env: {}, out: { info: silent, warn: silent } });
}

/** As it is after the engine's wire: members that are undefined are gone. */
function plain(bag: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(bag)) as JsonObject; // Of a bag, a bag.
}

function differences(inputs: JsonObject, outputs: JsonObject): string {
  const differing = Object.keys(inputs).filter((name) => !sameJson(inputs[name], outputs[name]));
  return differing.length === 0 ? "something that no argument says" : differing.join(", ");
}
