import type { z } from "zod";
import * as apply from "./apply";
import { check, type CheckResult } from "./check";
import { diff, type DiffResult } from "./diff";
import { ResourceType } from "./resource-type";
import type { Host } from "./host";
import type { Lifecycle } from "./lifecycle";
import type { Bag } from "./values";

/** The verbs of one resource type, as the engine calls them: plain values in, plain values out. */
export interface Verbs {
  check(host: Host, olds: Bag, news: Bag): Promise<CheckResult>;
  diff(host: Host, id: string, olds: Bag, news: Bag): Promise<DiffResult>;
  create(host: Host, inputs: Bag): Promise<{ id: string; outs: Record<string, unknown> }>;
  read(host: Host, id: string, props: Bag): Promise<apply.ReadResult>;
  update(host: Host, id: string, olds: Bag, news: Bag): Promise<{ outs: Record<string, unknown> }>;
  delete(host: Host, id: string, props: Bag): Promise<void>;
}

/** Turns what is special about a resource into the verbs that all resources share. None shows a secret of what it is given. */
export function verbsOf<Shape extends z.ZodRawShape, Computed extends object>(
  lifecycle: Lifecycle<Shape, Computed>,
): Verbs {
  const resource = new ResourceType(lifecycle);
  const hiding = <T>(host: Host, given: readonly Bag[], work: () => Promise<T>): Promise<T> =>
    host.hiding(resource.redactor(given), work);
  return {
    check: (host, olds, news) => hiding(host, [olds, news], () => check(resource, host, olds, news)),
    diff: (host, id, olds, news) => hiding(host, [olds, news], () => diff(resource, host, id, olds, news)),
    create: (host, inputs) => hiding(host, [inputs], () => apply.create(resource, host, inputs)),
    read: (host, id, props) => hiding(host, [props], () => apply.read(resource, host, id, props)),
    update: (host, id, olds, news) =>
      hiding(host, [olds, news], () => apply.update(resource, host, id, olds, news)),
    delete: (host, id, props) => hiding(host, [props], () => apply.delete(resource, host, id, props)),
  };
}
