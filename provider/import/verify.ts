import { Host } from "../runtime/host";
import { IMPACT } from "../runtime/impact";
import { canonicalJson, isJsonObject, omit, sameJson, type JsonObject } from "../basics/json";
import type { Draft, Drafter } from "./draft";
import type { ExistingObject } from "./existing";
import type { Inventory } from "./inventory";

/** A declaration and its state. They match, so the preview after the import shows no changes. */
export interface Verified extends Draft {
  readonly inputs: JsonObject;
  readonly outputs: JsonObject;
}

/**
 * Runs the resource's `check` and `diff` as the engine will: `check` returns the inputs, and `diff` must find no
 * changes compared with what was read. Leaves out any object that doesn't pass, with the reason, so that the preview
 * after the import shows no changes.
 */
export async function verify(inventory: Inventory, drafting: Drafter): Promise<Verified[]> {
  const verified = new Map<ExistingObject, Verified>();
  const claims = new Map<string, ExistingObject>();
  const host = offlineHost();
  try {
    for (const found of inventory.found) {
      const draft = drafting.draft(found, (other) => verified.has(other));
      const { resource, id, what, recordedAs = {} } = found;
      const written = isJsonObject(draft.args.value) ? serialized(draft.args.value) : {};
      const news = found.classInputs?.(written) ?? written;
      const { inputs: checked, failures } = await resource.verbs.check(host, {}, news);
      const [failure] = failures;
      if (failure !== undefined) {
        inventory.leaveOut(what, failure.reason);
        continue;
      }
      // The import changes nothing, so there's no impact to record.
      const inputs = { ...omit(serialized(checked), [IMPACT]), ...recordedAs };
      const key = `${resource.type} ${found.identity ?? canonicalJson(inputs)}`;
      const twin = claims.get(key);
      if (twin !== undefined) {
        inventory.leaveOut(
          what,
          `it has the same identifying arguments as ${twin.what}, so a program can't distinguish them`,
        );
        continue;
      }
      const read = serialized(found.outputs);
      const { changes } = await resource.verbs.diff(host, id, read, inputs);
      if (changes) {
        inventory.leaveOut(what, `the first preview would show a change in ${differences(inputs, read)}`);
        continue;
      }
      claims.set(key, found);
      // As after an update, the outputs contain every argument as declared.
      const outputs = omit({ ...read, ...inputs }, resource.inputsOnly);
      verified.set(found, { ...draft, inputs, outputs });
    }
  } finally {
    await host.close();
  }
  return [...verified.values()];
}

/** Returns a host without live checks or output. */
function offlineHost(): Host {
  const config = new Map([["edgeguard:liveChecks", "false"]]);
  const silent = (): void => undefined;
  return new Host({ config: (key) => config.get(key), env: {}, out: { info: silent, warn: silent } });
}

/** Returns the value as the engine passes it on: without undefined properties. */
function serialized(bag: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(bag)) as JsonObject; // An object stays an object.
}

function differences(inputs: JsonObject, outputs: JsonObject): string {
  const differing = Object.keys(inputs).filter((name) => !sameJson(inputs[name], outputs[name]));
  return differing.length === 0 ? "something that no argument covers" : differing.join(", ");
}
