import * as pulumi from "@pulumi/pulumi";
import { isJsonObject } from "../basics/json";

/** Settings that a unit test's mocks impose on all lookups in a run. */
export interface MockedRun {
  /**
   * Settings with the address and credential of the test's API, and no other credential. They override all other
   * settings.
   */
  readonly fixed: ReadonlyMap<string, string | undefined>;
  /** Why lookups can't send requests. Undefined if they can. */
  readonly problem: string | undefined;
}

/**
 * The key under which all copies of this module share the mocked run. A test runner may load the program's own copy,
 * which would otherwise use the environment.
 */
const MOCKED_RUN = Symbol.for("pulumi-edgeguard/mocked-run");

/**
 * Marks mocks, so that lookups in a run with these mocks never use the environment. The mark is enumerable, because a
 * test may spread the mocks to replace one of them.
 */
export function markMocks<T extends pulumi.runtime.Mocks>(mocks: T, run: MockedRun): T {
  return Object.defineProperty(mocks, MOCKED_RUN, { value: run, enumerable: true });
}

/**
 * Returns the settings of the current run's mocks. Undefined outside a unit test, or if the mocks aren't this
 * package's.
 */
export function mockedRun(): MockedRun | undefined {
  const monitor: unknown = pulumi.runtime.getMonitor();
  const mocks: unknown = isJsonObject(monitor) ? monitor["mocks"] : undefined;
  if (typeof mocks !== "object" || mocks === null) return undefined;
  return Reflect.get(mocks, MOCKED_RUN) as MockedRun | undefined; // Only markMocks sets it.
}
