import type { z } from "zod";
import type { Purpose } from "../api/errors";
import * as apply from "./apply";
import { check, type CheckResult } from "./check";
import { diff, type DiffResult } from "./diff";
import { ResourceType } from "./resource-type";
import type { Host } from "./host";
import type { ClaimRule } from "./claims";
import type { CompositeId } from "./composite-id";
import type { Lifecycle, ProgramName } from "./lifecycle";
import type { SecretRules } from "./secrets";
import { omit, pick, type JsonObject } from "./values";

/** The parts of a resource type's lifecycle that the classes and the provider plugin use. */
export interface Facts extends SecretRules {
  readonly type: string;
  readonly compositeId: CompositeId;
  readonly args: { readonly shape: Readonly<Record<string, unknown>> };
  readonly computed: { readonly shape: Readonly<Record<string, unknown>> };
  readonly replaceOn: readonly string[];
  readonly compared?: { readonly ignore: readonly string[] };
  readonly fromSettings?: Readonly<Record<string, unknown>>;
  readonly named?: (about: ProgramName) => JsonObject;
  readonly claims?: readonly ClaimRule[];
  /** @param holder identifies the resource in its program. */
  readonly compare: ((host: Host, inputs: JsonObject, holder: string) => Promise<void>) | undefined;
}

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
}

/** Builds a resource type's provider methods from its lifecycle. They never reveal secrets from their inputs. */
export function verbsOf<Shape extends z.ZodRawShape, Computed extends object>(
  lifecycle: Lifecycle<Shape, Computed>,
): Verbs {
  const resource = new ResourceType(lifecycle);
  const during = <T>(
    host: Host,
    { given, ...purpose }: Purpose & { readonly given: readonly JsonObject[] },
    work: () => Promise<T>,
  ): Promise<T> => {
    const shown = (): string =>
      JSON.stringify(given.map((bag) => omit(pick(bag, resource.argKeys), resource.secrets(...given))));
    return host.during({ secrets: resource.redactor(given), shown, purpose }, work);
  };
  // If no check ran, there's no program, so the configuration is that of the last `up`.
  const isSaved = (host: Host): boolean => host.declared.size === 0;
  const planned = { savedConfig: false };
  return {
    facts: { ...lifecycle, compare: comparing(resource) },
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
  };
}

function comparing<Shape extends z.ZodRawShape, Computed extends object>(
  resource: ResourceType<Shape, Computed>,
): Facts["compare"] {
  const { lifecycle } = resource;
  if (lifecycle.compare === undefined) return undefined;
  return async (host, inputs, holder) => {
    const ctx = host.probeContext(lifecycle.type, resource.about(inputs));
    await lifecycle.compare?.({ ctx, inputs, holder });
  };
}

/** Whether there's a recorded state. There's none for a new resource or an import. */
function isRecorded(olds: JsonObject): boolean {
  return Object.keys(olds).length > 0;
}
