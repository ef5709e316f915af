/** Resource names: urn:pulumi:<stack>::<project>::<parent types>$<type>::<name>. */

export type Urn = string;

export const ROOT_STACK_TYPE = "pulumi:pulumi:Stack";
export const PROVIDER_PACKAGE = "pulumi-nodejs";
export const PROVIDER_TYPE = `pulumi:providers:${PROVIDER_PACKAGE}`;

interface UrnParts {
  readonly stack: string;
  readonly project: string;
  readonly qualifiedType: string;
  readonly name: string;
}

export function partsOf(urn: Urn): UrnParts {
  const [, stack = "", rest = ""] = /^urn:pulumi:(.*?)::(.*)$/s.exec(urn) ?? [];
  const [project = "", qualifiedType = "", ...name] = rest.split("::");
  return { stack: stack, project, qualifiedType, name: name.join("::") };
}

export const nameOf = (urn: Urn): string => partsOf(urn).name;
export const qualifiedTypeOf = (urn: Urn): string => partsOf(urn).qualifiedType;
export const isRootStack = (urn: Urn): boolean => qualifiedTypeOf(urn) === ROOT_STACK_TYPE;

export function typeOf(urn: Urn): string {
  const qualified = qualifiedTypeOf(urn);
  return qualified.slice(qualified.lastIndexOf("$") + 1);
}

interface UrnRequest {
  readonly stack: string;
  readonly project: string;
  readonly parent: Urn;
  readonly type: string;
  readonly name: string;
}

/** Returns a resource's URN. It contains the parent's type, unless the parent is the stack. */
export function makeUrn(of: UrnRequest): Urn {
  const parentType = of.parent === "" ? "" : qualifiedTypeOf(of.parent);
  const qualified =
    parentType === "" || parentType === ROOT_STACK_TYPE ? of.type : `${parentType}$${of.type}`;
  return `urn:pulumi:${of.stack}::${of.project}::${qualified}::${of.name}`;
}

export const rootStackUrn = (stack: string, project: string): Urn =>
  makeUrn({ stack, project, parent: "", type: ROOT_STACK_TYPE, name: `${project}-${stack}` });

export const defaultProviderUrn = (stack: string, project: string): Urn =>
  makeUrn({ stack, project, parent: "", type: PROVIDER_TYPE, name: "default" });

export const isProviderType = (type: string): boolean => type.startsWith("pulumi:providers:");

/** Whether a provider is a default one, which the program doesn't declare. */
export const isDefaultProvider = (urn: Urn): boolean =>
  isProviderType(typeOf(urn)) && nameOf(urn).startsWith("default");

/** Returns the URN in a provider reference, which has the form <urn>::<id>. */
export function providerUrnOf(reference: string): Urn {
  return reference.slice(0, reference.lastIndexOf("::"));
}

export const providerReference = (urn: Urn, id: string): string => `${urn}::${id}`;
