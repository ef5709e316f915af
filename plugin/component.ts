import { Alias } from "@pulumi/pulumi/proto/alias_pb";
import { ConstructResponse, type ConstructRequest } from "@pulumi/pulumi/proto/provider_pb";
import { ResourceMonitorClient } from "@pulumi/pulumi/proto/resource_grpc_pb";
import { RegisterResourceRequest } from "@pulumi/pulumi/proto/resource_pb";
import { Struct, type JavaScriptValue } from "google-protobuf/google/protobuf/struct_pb";
import {
  isJsonObject,
  kindOf,
  omit,
  TYPE_PREFIXES,
  VERSION,
  WIRE_SECRET,
  zoneParts,
  type JsonObject,
  type ZonePart,
} from "pulumi-edgeguard/plugin";
import { LOCAL_CHANNEL } from "./engine-log";

/**
 * Registers a `ProtectedZone` and its resources with the engine, as the class does in a TypeScript program. Values stay
 * as the engine sent them, so nested secrets and unknown values keep their marks.
 */
export async function construct(request: ConstructRequest): Promise<ConstructResponse> {
  const [type, name] = [request.getType(), request.getName()];
  if (kindOf(type) !== "ProtectedZone") throw new Error(`edgeguard has no component ${type}.`);
  const monitor = new ResourceMonitorClient(request.getMonitorendpoint(), ...LOCAL_CHANNEL);
  const register = (resource: RegisterResourceRequest): Promise<string> =>
    new Promise((done, fail) => {
      resource.setAcceptsecrets(true).setAcceptresources(true).setAliasspecs(true);
      const [protect, retain] = [request.getProtect(), request.getRetainondelete()];
      if (protect !== undefined) resource.setProtect(protect);
      if (retain !== undefined) resource.setRetainondelete(retain);
      monitor.registerResource(resource, (error, made) => (error ? fail(error) : done(made.getUrn())));
    });
  const component = new RegisterResourceRequest().setType(type).setName(name).setObject(new Struct());
  component.setAliasesList(request.getAliasesList()).setDependenciesList(request.getDependenciesList());
  request.getProvidersMap().forEach((provider, each) => component.getProvidersMap().set(each, provider));
  const urn = await register(component.setParent(request.getParent()));
  let before: string | undefined;
  for (const part of zoneParts(name, argumentsIn(request))) {
    const resource = resourceOf(part, request).setParent(urn);
    if (before !== undefined) resource.addDependencies(before);
    before = await register(resource);
  }
  monitor.close();
  return new ConstructResponse().setUrn(urn).setState(new Struct());
}

function argumentsIn(request: ConstructRequest): JsonObject {
  const args: JsonObject = request.getInputs()?.toJavaScript() ?? {};
  const outputs = Object.entries(omit(args, ["zoneId", "without"])).find(
    ([, value]) => !isJsonObject(value) || value[WIRE_SECRET.member] === WIRE_SECRET.mark,
  );
  if (outputs === undefined) return args;
  throw new Error(`${outputs[0]} must be an object. Only the values inside it may be outputs or secrets.`);
}

function resourceOf(part: ZonePart, request: ConstructRequest): RegisterResourceRequest {
  const { name } = part.type;
  const resource = new RegisterResourceRequest().setCustom(true).setName(part.name).setVersion(VERSION);
  resource.setType(`${TYPE_PREFIXES.plugin}${name}`);
  resource.setAliasesList([new Alias().setSpec(new Alias.Spec().setType(TYPE_PREFIXES.dynamic + name))]);
  resource.setObject(Struct.fromJavaScript(part.args as Record<string, JavaScriptValue>)); // As it came from one.
  for (const key of Object.keys(part.args)) {
    const source = key === "zoneId" ? key : part.argument;
    const urns = request.getInputdependenciesMap().get(source)?.getUrnsList() ?? [];
    const dependencies = new RegisterResourceRequest.PropertyDependencies().setUrnsList(urns);
    resource.getPropertydependenciesMap().set(key, dependencies);
    for (const each of urns) resource.addDependencies(each);
  }
  return resource.setProvider(request.getProvidersMap().get("edgeguard") ?? "");
}
