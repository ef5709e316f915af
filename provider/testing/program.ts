import { setImmediate as nextTurn } from "node:timers/promises";
import * as pulumi from "@pulumi/pulumi";
import { markMocks } from "../runtime/mocked-run";
import { Checker, lookupsOf, type CheckedMocksOptions, type RegisteredResource } from "./mocks";

/** Options of {@link runProgram}. */
export interface RunProgramOptions extends CheckedMocksOptions {
  /**
   * The stack's configuration, by full key: `{ "edgeguard:accountId": "…", "shop:domain": "…" }`.
   *
   * @defaultValue `{}`
   */
  readonly config?: Readonly<Record<string, string>>;
  /**
   * The project's name.
   *
   * @defaultValue `"project"`
   */
  readonly project?: string;
  /**
   * The stack's name.
   *
   * @defaultValue `"stack"`
   */
  readonly stack?: string;
  /**
   * Whether to run the program as in a preview: IDs and outputs of new resources are unknown, and nothing is created in
   * the local API.
   *
   * @defaultValue `false`
   */
  readonly preview?: boolean;
}

/** The result of running a program. */
export interface ProgramRun<T> {
  /** What the program returned. */
  readonly result: T;
  /**
   * The resources, in the order in which they were registered. A resource is registered after those that its arguments
   * depend on.
   */
  readonly resources: readonly RegisteredResource[];
  /** The checks' warnings, as a preview prints them. */
  readonly warnings: readonly string[];
  /** Other lines that a preview prints, such as what an `allow` policy would block. */
  readonly messages: readonly string[];
}

/** Thrown if a program's preview would fail. The message has one line per problem. */
export class RefusedProgramError extends Error {
  override readonly name = "RefusedProgramError";

  constructor(
    /** The problems as a preview reports them, each after the name of its resource. */
    readonly problems: readonly string[],
  ) {
    super(problems.join("\n"));
  }
}

/**
 * Runs a program, or a part of one, as a unit test: with mocks that run this package's checks, in this process,
 * without the Pulumi CLI. Waits until every resource is registered. Each call is a new run, independent of earlier
 * calls.
 *
 * Runs in one process can't overlap, because the SDK keeps the mocks in one place. Node.js loads a module once: pass a
 * function that declares the resources, or reset your test runner's module cache before an `import("./index")`.
 *
 * Lookups read from `api`, never with a credential from the environment. Without `api`, they fail.
 *
 * @example Test what a policy declares
 * ```ts
 * import { PageShieldPolicy } from "pulumi-edgeguard";
 * import { runProgram } from "pulumi-edgeguard/testing";
 *
 * export async function declaredPolicies(): Promise<unknown[]> {
 *   const { resources } = await runProgram(() => {
 *     new PageShieldPolicy("shop", {
 *       zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *       description: "Shop: only our own scripts",
 *       action: "log",
 *       expression: "true",
 *       value: { scriptSrc: ["'self'"] },
 *     });
 *   });
 *   return resources.map(({ inputs }) => inputs["value"]);
 * }
 * ```
 *
 * @param program a function that declares resources. It may be asynchronous.
 * @param options configuration, a local API, and your own mocks.
 * @returns the registered resources, and what the preview would print.
 * @throws RefusedProgramError if a preview would reject an argument.
 */
export async function runProgram<T>(
  program: () => T | Promise<T>,
  options: RunProgramOptions = {},
): Promise<ProgramRun<T>> {
  const { config = {}, project, stack, preview = false } = options;
  const registered: RegisteredResource[] = [];
  const warnings: string[] = [];
  const messages: string[] = [];
  const problems: string[] = [];
  const checker = new Checker(options, {
    info: (line) => messages.push(line),
    warn: (line) => warnings.push(line),
    refuse: (sentence) => problems.push(sentence),
    registered: (resource) => registered.push(resource),
  });
  const mocks = markMocks(checker, lookupsOf(options));
  pulumi.runtime.setAllConfig({ ...config }, ["edgeguard:apiToken"]);
  await pulumi.runtime.setMocks(mocks, project, stack, preview);
  try {
    const result = await program();
    await allRegistered(registered);
    if (problems.length > 0) throw new RefusedProgramError(problems);
    return { result, resources: registered, warnings, messages };
  } finally {
    await checker.close();
  }
}

/** Waits until all resources are registered, including those that the program declares late. */
async function allRegistered(resources: readonly unknown[]): Promise<void> {
  for (let seen = -1; seen !== resources.length;) {
    seen = resources.length;
    await pulumi.runtime.disconnect();
    await nextTurn();
  }
}
