import type { PolicyPackArgs } from "@pulumi/policy";
import * as server from "@pulumi/policy/server";
import analyzer from "@pulumi/pulumi/proto/analyzer_pb";
import { Struct, type JavaScriptValue } from "google-protobuf/google/protobuf/struct_pb";

/** A resource as the engine passes it to a policy pack. */
export interface Analyzed {
  readonly type: string;
  readonly urn: string;
  /** Checked inputs, without those whose names start with underscores. */
  readonly props: Readonly<Record<string, unknown>>;
  readonly protect?: boolean;
}

/** A policy's message about a resource. */
export interface Found {
  readonly policy: string;
  readonly resource: string;
  readonly level: "advisory" | "mandatory";
  readonly message: string;
}

type Policies = NonNullable<PolicyPackArgs["policies"]>;
type Respond = (error: Error | null | undefined, response: analyzer.AnalyzeResponse | undefined) => void;

/** Runs policies as a pack does, through @pulumi/policy's gRPC functions: first each resource, then the stack. */
export async function analyze(policies: Policies, resources: readonly Analyzed[]): Promise<Found[]> {
  const found: Found[] = [];
  const onResource = answering<analyzer.AnalyzeRequest>("makeAnalyzeRpcFun", policies);
  const onStack = answering<analyzer.AnalyzeStackRequest>("makeAnalyzeStackRpcFun", policies);
  for (const resource of resources)
    found.push(...(await ask(onResource, withFields(new analyzer.AnalyzeRequest(), resource), resource.urn)));
  const stack = new analyzer.AnalyzeStackRequest();
  stack.setResourcesList(resources.map((each) => withFields(new analyzer.AnalyzerResource(), each)));
  found.push(...(await ask(onStack, stack, "")));
  return found;
}

type Rpc<Request> = (call: { readonly request: Request }, respond: Respond) => void;

/** The package's types omit these functions, because only the engine calls them. */
function answering<Request>(name: string, policies: Policies): Rpc<Request> {
  const make = Reflect.get(server, name) as (...args: unknown[]) => Rpc<Request>;
  return make("pack", "1.0.0", "mandatory", policies);
}

function ask<Request>(rpc: Rpc<Request>, request: Request, urn: string): Promise<Found[]> {
  return new Promise((done, failed) =>
    rpc({ request }, (error, response) => {
      if (response === undefined) failed(error ?? new Error("no response"));
      else
        done(
          response.getDiagnosticsList().map((each) => ({
            policy: each.getPolicyname(),
            resource: (each.getUrn() || urn).split("::").at(-1) ?? "",
            level:
              each.getEnforcementlevel() === analyzer.EnforcementLevel.ADVISORY ? "advisory" : "mandatory",
            // The engine prints the description before the message.
            message: each.getMessage().split("\n").at(-1) ?? "",
          })),
        );
    }),
  );
}

function withFields<T extends analyzer.AnalyzeRequest | analyzer.AnalyzerResource>(
  message: T,
  { type, urn, props, protect = false }: Analyzed,
): T {
  const options = new analyzer.AnalyzerResourceOptions();
  options.setProtect(protect);
  message.setType(type);
  message.setUrn(urn);
  message.setName(urn.split("::").at(-1) ?? "");
  message.setProperties(Struct.fromJavaScript(props as Record<string, JavaScriptValue>)); // JSON.
  message.setOptions(options);
  return message;
}
