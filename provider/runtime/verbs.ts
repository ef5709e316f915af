import type { Purpose } from "../api/errors";
import * as apply from "./apply";
import { isRecorded } from "./apply";
import { check, type CheckResult } from "./check";
import { diff, type DiffResult } from "./diff";
import { ResourceType } from "./resource-type";
import type { Host } from "./host";
import type { Scope } from "./composite-id";
import type { Facts, Lifecycle, ListedObject } from "./lifecycle";
import { omit, pick, type JsonObject } from "../basics/json";

/** A resource type's provider methods, as the engine calls them. Arguments and results are plain values. */
export interface Verbs {
  readonly facts: Facts;
  check(host: Host, olds: JsonObject, news: JsonObject): Promise<CheckResult>;
  diff(host: Host, id: string, olds: JsonObject, news: JsonObject): Promise<DiffResult>;
  create(host: Host, inputs: JsonObject): Promise<{ id: string; outs: Record<string, unknown> }>;
  read(host: Host, id: string, props: JsonObject): Promise<apply.ReadResult>;
  update(
    host: Host,
    id: string,
    olds: JsonObject,
    news: JsonObject,
  ): Promise<{ outs: Record<string, unknown> }>;
  delete(host: Host, id: string, props: JsonObject): Promise<void>;
  /** Lists existing objects, with the IDs that `get` and imports accept. */
  readonly list?: (host: Host, scope: Scope) => Promise<readonly ListedObject[]>;
}

/** Builds a resource type's provider methods from its lifecycle. They never reveal secrets from their inputs. */
export function verbsOf(lifecycle: Lifecycle): Verbs {
  const resource = new ResourceType(lifecycle);
  const during = <T>(
    host: Host,
    { given, ...purpose }: Purpose & { readonly given: readonly JsonObject[] },
    work: () => Promise<T>,
  ): Promise<T> => {
    const shown = (): string =>
      JSON.stringify(given.map((bag) => omit(pick(bag, resource.argKeys), resource.secrets(...given))));
    const secrets = resource.redactor(given);
    const hideTwins = resource.twinsHider(secrets, given);
    return host.during({ secrets, hideTwins, shown, purpose }, work);
  };
  // If no check ran, there's no program, so the configuration is that of the last `up`.
  const isSaved = (host: Host): boolean => host.declared.size === 0;
  const planned = { savedConfig: false };
  return {
    facts: lifecycle,
    check: (host, olds, news) =>
      during(host, { given: [olds, news], isRecorded: isRecorded(olds), ...planned }, () =>
        check(resource, host, olds, news),
      ),
    diff: (host, id, olds, news) =>
      during(host, { given: [olds, news], isRecorded: true, ...planned }, () =>
        diff(resource, host, id, olds, news),
      ),
    create: (host, inputs) =>
      during(host, { given: [inputs], isRecorded: false, ...planned }, () =>
        apply.create(resource, host, inputs),
      ),
    read: async (host, id, props) => {
      if (!resource.isGet(props))
        return await during(
          host,
          { given: [props], isRecorded: isRecorded(props), savedConfig: isSaved(host) },
          () => apply.read(resource, host, id, props),
        );
      const reading = { isRecorded: false, ...planned };
      const found = await during(host, { given: [props], ...reading }, () =>
        apply.findExisting(resource, host, id, props),
      );
      // The object's secrets are known only now.
      return await during(host, { given: [found.props], ...reading }, () =>
        apply.readExisting(resource, host, id, found),
      );
    },
    update: (host, id, olds, news) =>
      during(host, { given: [olds, news], isRecorded: true, ...planned }, () =>
        apply.update(resource, host, id, olds, news),
      ),
    delete: (host, id, props) =>
      during(host, { given: [props], isRecorded: true, savedConfig: isSaved(host) }, () =>
        apply.delete(resource, host, id, props),
      ),
    ...(lifecycle.list && {
      list: (host, scope) =>
        during(host, { given: [], isRecorded: false, ...planned }, () => apply.list(resource, host, scope)),
    }),
  };
}
