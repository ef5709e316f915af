import { managedRulesets } from "edgeguard-local";
import { rawSend } from "../support/operation";
import { OWASP, RulesetsBench, TYPE, type Declaration } from "./support";

/** The order of a program's deployments, which decides whether exceptions apply. */

const bench = new RulesetsBench();
beforeEach(() => bench.inZone("empty"));

const STACK = "edgeguard/site/dev/";
const UPLOAD = { expression: 'http.request.uri.path eq "/upload"', skip: { rulesets: ["this", OWASP] } };
const owasp = (more: Record<string, unknown> = {}): Declaration =>
  bench.declare({ ref: `${STACK}owasp`, ...more });
const managed = (more: Record<string, unknown> = {}): Declaration =>
  bench.declare({
    ref: `${STACK}managed`,
    ruleset: { id: managedRulesets.managed },
    exceptions: [UPLOAD],
    ...more,
  });
const refs = async (): Promise<readonly string[]> =>
  (await bench.rules()).map(({ ref }) => ref.replace(STACK, ""));

test.each([
  ["first", [managed, owasp]],
  ["last", [owasp, managed]],
])("a deployment whose exception names another one's ruleset runs before it, created %s", async (_, all) => {
  const operation = bench.operation();
  for (const declare of all) await operation.up(TYPE, declare());
  expect(await refs()).toEqual(["managed/exception/1", "managed", "owasp"]);
  expect(operation.warned).toEqual([]);
});

test("a new deployment is added last if it declares so, and never before what isn't of its stack", async () => {
  await bench.up(owasp({ ref: "security-team/owasp" }));
  await bench.up(owasp({ expression: 'http.host eq "a.example"' }));
  await bench.up(managed({ ref: "own-ref" }));
  await bench.up(managed({ expression: "ssl", position: "last" }));
  expect(await refs()).toEqual([
    "security-team/owasp",
    "owasp",
    "own-ref/exception/1",
    "own-ref",
    "managed/exception/1",
    "managed",
  ]);
});

describe("the preview warns", () => {
  const tooLate = `exceptions[0] doesn't apply to rule "security-team/owasp", which runs before this one. Declare the exception there, or set position: { before: "security-team/owasp" }`;

  test("about an exception that names the ruleset of an earlier rule, new or changed, until a position is declared", async () => {
    await bench.up(owasp({ ref: "security-team/owasp" }));
    expect(await bench.warnings(managed())).toEqual([expect.stringContaining(tooLate)]);
    const recorded = await bench.up(managed({ exceptions: undefined }));
    expect(await bench.warnings(managed(), recorded)).toEqual([expect.stringContaining(tooLate)]);
    const position = { before: "security-team/owasp" };
    expect(await bench.warnings(managed({ position }), recorded)).toEqual([]);
    await bench.up(managed({ position }), recorded);
    expect(await refs()).toEqual(["managed/exception/1", "managed", "security-team/owasp"]);
  });

  test("about a new deployment behind a rule that skips it for all requests", async () => {
    const action_parameters = { ruleset: "current" };
    const skip = { action: "skip", expression: "true", description: "incident", action_parameters };
    await rawSend(bench.api, "PUT", `${bench.path}/phases/http_request_firewall_managed/entrypoint`, {
      rules: [skip],
    });
    const [rule] = await bench.rules();
    const warning = `managed ruleset "${STACK}owasp": rule "incident" skips the whole ruleset for all requests. Unless that's intended, delete that rule, or set position: { before: "${String(rule?.ref)}" }`;
    expect(await bench.warnings(owasp())).toEqual([expect.stringContaining(warning)]);
    expect(await bench.warnings(owasp({ position: "first" }))).toEqual([]);
  });

  test("about an exception that the program moves from an earlier rule to a later one", async () => {
    const exceptions = [{ ...UPLOAD, skip: { rulesets: [managedRulesets.managed] } }];
    const [first, second] = [
      await bench.up(managed({ exceptions: [{ ...UPLOAD, skip: "this" }] })),
      await bench.up(owasp()),
    ];
    const operation = bench.operation();
    await operation.preview(TYPE, managed({ exceptions: undefined }), first);
    await operation.preview(TYPE, owasp({ exceptions }), second);
    expect(operation.warned).toContainEqual(
      expect.stringContaining(
        `exceptions[0] doesn't apply to rule "${STACK}managed", which runs before this one`,
      ),
    );
  });

  test("of nothing that the program declares itself, when it adopts the rules of a zone", async () => {
    const office = { expression: "ip.src eq 192.0.2.1", skip: "all" };
    const parameters = (id: string): object => ({
      action: "execute",
      expression: "true",
      action_parameters: { id },
    });
    await rawSend(bench.api, "PUT", `${bench.path}/phases/http_request_firewall_managed/entrypoint`, {
      rules: [
        { action: "skip", expression: office.expression, action_parameters: { ruleset: "current" } },
        parameters(managedRulesets.managed),
        parameters(managedRulesets.owasp),
      ],
    });
    const operation = bench.operation();
    await operation.preview(TYPE, managed({ exceptions: [office] }));
    await operation.preview(TYPE, bench.declare({ ref: `${STACK}owasp`, owasp: undefined }));
    expect(operation.warned).toEqual([]);
  });

  test("about a rule that skips more than the program's exception for the same requests, when it adopts the deployment", async () => {
    const { expression } = UPLOAD;
    await rawSend(bench.api, "PUT", `${bench.path}/phases/http_request_firewall_managed/entrypoint`, {
      rules: [
        { action: "skip", description: "legacy", expression, action_parameters: { ruleset: "current" } },
        { action: "execute", expression: "true", action_parameters: { id: managedRulesets.managed } },
      ],
    });
    const [rule] = await bench.managedRules(managedRulesets.managed);
    const narrow = { expression, skip: { rules: { this: [rule?.id ?? ""] } } };
    expect(await bench.warnings(managed({ adopt: "takeOver", exceptions: [narrow] }))).toEqual([
      expect.stringContaining('"legacy"'),
    ]);
    const whole = { expression, skip: "all" };
    expect(await bench.warnings(managed({ adopt: "takeOver", exceptions: [whole] }))).toEqual([]);
  });

  test("of nothing if the earlier rule has the same exception", async () => {
    const exceptions = [{ ...UPLOAD, skip: { rulesets: [managedRulesets.managed, managedRulesets.owasp] } }];
    await bench.up(managed({ exceptions }));
    const recorded = await bench.up(owasp({ exceptions }));
    expect(await bench.warnings(owasp({ exceptions, description: "new" }), recorded)).toEqual([]);
  });
});
