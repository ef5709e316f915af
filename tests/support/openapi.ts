import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import Ajv, { type ErrorObject, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";

/**
 * Cloudflare's published OpenAPI document, which responses are validated against. It's stored beside the repository and
 * never copied into it.
 */
const PUBLISHED_FILE = resolve(__dirname, "../../../shared/api/openapi-subset.json");

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

export interface Operation {
  readonly method: string;
  /** The path as published, such as `/zones/{zone_id}/page_shield`. */
  readonly template: string;
}

export interface ApiResponse {
  readonly status: number;
  /** The parsed JSON, or undefined if the response had no body. */
  readonly body: unknown;
}

/** The document, or undefined after one line on stderr that says why it's missing. */
export function openContract(file: string = PUBLISHED_FILE): Contract | undefined {
  if (existsSync(file)) return new Contract(parse(readFileSync(file, "utf8")));
  process.stderr.write(`Contract tests did not run: ${file} is not there.\n`);
  return undefined;
}

export class Contract {
  readonly #ajv = new Ajv({ strict: false, allErrors: true, validateSchema: false });
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #document: JsonObject;

  constructor(document: JsonObject) {
    addFormats(this.#ajv);
    this.#document = object(toJsonSchema(document));
    this.#ajv.addSchema(this.#document, "openapi");
  }

  operations(part: string): Operation[] {
    const methods = ["get", "put", "post", "patch", "delete"];
    return Object.entries(object(this.#document["paths"]))
      .filter(([template]) => template.includes(part))
      .flatMap(([template, item]) =>
        methods
          .filter((method) => method in object(item))
          .map((method) => ({ method: method.toUpperCase(), template })),
      );
  }

  /** The operation that matches a path. A literal segment takes precedence over a parameter. */
  operation(method: string, path: string): Operation | undefined {
    const serving = this.operations("").filter(
      (operation) => operation.method === method && fits(operation.template, path),
    );
    return serving.sort((a, b) => a.template.split("{").length - b.template.split("{").length)[0];
  }

  /** Everything in a response that the document doesn't allow. Bodies that aren't JSON pass. */
  complaints(method: string, path: string, answer: ApiResponse): string[] {
    const operation = this.operation(method, path);
    if (operation === undefined) return [`${method} ${path} is not published`];

    const at = ["paths", operation.template, method.toLowerCase(), "responses"];
    const responses = Object.keys(object(descend(this.#document, at)));
    const status = [String(answer.status), `${Math.floor(answer.status / 100)}XX`, "default"].find((key) =>
      responses.includes(key),
    );
    if (status === undefined) {
      return [`${method} ${operation.template} does not publish status ${answer.status}`];
    }

    const response = this.#resolve([...at, status]);
    const content = object(descend(this.#document, response))["content"];
    if (content === undefined) {
      return answer.body === undefined ? [] : [`status ${status} is published without a body`];
    }
    if (!("application/json" in object(content))) return [];

    const pointer = [...response, "content", "application/json", "schema"].map(pointerPart).join("/");
    const validate = this.#validators.get(pointer) ?? this.#ajv.compile({ $ref: `openapi#/${pointer}` });
    this.#validators.set(pointer, validate);
    return validate(answer.body) ? [] : (validate.errors ?? []).map(sentence);
  }

  /** Follows a reference to a shared response. */
  #resolve(path: readonly string[]): readonly string[] {
    const reference = object(descend(this.#document, path))["$ref"];
    return typeof reference === "string" ? this.#resolve(reference.split("/").slice(1)) : path;
  }
}

function sentence({ instancePath, message, params }: ErrorObject): string {
  return `${instancePath === "" ? "the response" : instancePath} ${message ?? "is invalid"} ${JSON.stringify(params)}`;
}

/** OpenAPI 3.0 differs from JSON Schema in nullable values and exclusive bounds. */
function toJsonSchema(node: Json): Json {
  if (Array.isArray(node)) return node.map(toJsonSchema);
  if (node === null || typeof node !== "object") return node;

  const { nullable, ...rest } = node;
  const schema = Object.fromEntries(
    Object.entries(withNumericBounds(rest)).map(([key, value]) => [key, toJsonSchema(value)]),
  );
  return nullable === true ? { anyOf: [schema, { type: "null" }] } : schema;
}

/** OpenAPI's `minimum: 0, exclusiveMinimum: true` is `exclusiveMinimum: 0` in JSON Schema. */
function withNumericBounds(schema: JsonObject): JsonObject {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, ...rest } = schema;
  return {
    ...rest,
    ...bound("minimum", minimum, "exclusiveMinimum", exclusiveMinimum),
    ...bound("maximum", maximum, "exclusiveMaximum", exclusiveMaximum),
  };
}

function bound(
  name: string,
  value: Json | undefined,
  exclusiveName: string,
  exclusive: Json | undefined,
): JsonObject {
  return value === undefined ? {} : { [exclusive === true ? exclusiveName : name]: value };
}

function fits(template: string, path: string): boolean {
  const wanted = template.split("/");
  const segments = path.split("/");
  return (
    wanted.length === segments.length &&
    wanted.every((part, index) => (part.startsWith("{") ? segments[index] !== "" : part === segments[index]))
  );
}

function pointerPart(part: string): string {
  return encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"));
}

function descend(node: Json, path: readonly string[]): Json {
  return path.reduce<Json>((at, key) => object(at)[key] ?? {}, node);
}

function object(node: Json | undefined): JsonObject {
  if (node === null || typeof node !== "object" || Array.isArray(node)) throw new Error("not an object");
  return node;
}

function parse(text: string): JsonObject {
  return object(JSON.parse(text) as Json);
}
