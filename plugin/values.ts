import { ListValue, NullValue, Struct, Value } from "google-protobuf/google/protobuf/struct_pb";
import { isJsonObject, UNKNOWN, WIRE_SECRET, WIRE_SIGNATURE, type JsonObject } from "pulumi-edgeguard/plugin";

/**
 * Converts values from and to the engine's format, in which secrets are objects with a signature and unknown values are
 * fixed strings.
 */

/** The engine has a string for each type of unknown value. */
const UNKNOWNS: readonly string[] = [
  UNKNOWN,
  "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
  "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
  "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
  "030794c1-ac77-496b-92df-f27374a8bd58",
  "e48ece36-62e2-4504-bad9-02848725956a",
  "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
];

export interface Received {
  /** The values, with secrets as plain text. */
  readonly values: JsonObject;
  /** The names of the properties that are secret or contain a secret. */
  readonly secrets: readonly string[];
}

/** Reads a message. Keeps a property named `__proto__` as an ordinary one. */
export function received(struct: Struct | undefined): Received {
  const secrets = new Set<string>();
  const values = new Map<string, unknown>();
  struct?.getFieldsMap().forEach((value: Value, name: string) => {
    values.set(
      name,
      plain(value, () => secrets.add(name)),
    );
  });
  return { values: Object.fromEntries(values), secrets: [...secrets].sort() };
}

function plain(value: Value, found: () => void): unknown {
  switch (value.getKindCase()) {
    case Value.KindCase.STRING_VALUE: {
      const text = value.getStringValue();
      return UNKNOWNS.includes(text) ? UNKNOWN : text;
    }
    case Value.KindCase.NUMBER_VALUE:
      return value.getNumberValue();
    case Value.KindCase.BOOL_VALUE:
      return value.getBoolValue();
    case Value.KindCase.LIST_VALUE:
      return (value.getListValue()?.getValuesList() ?? []).map((each) => plain(each, found));
    case Value.KindCase.STRUCT_VALUE: {
      const members: [string, unknown][] = [];
      value
        .getStructValue()
        ?.getFieldsMap()
        .forEach((each: Value, name: string) => members.push([name, plain(each, found)]));
      const object: JsonObject = Object.fromEntries(members);
      if (object[WIRE_SIGNATURE] !== WIRE_SECRET) return object;
      found();
      return object["value"];
    }
    default:
      return null;
  }
}

/** Writes a message. Marks the named properties as secret. */
export function sent(values: JsonObject, secrets: ReadonlySet<string> = new Set()): Struct {
  return structOf(
    Object.entries(values).map(([name, value]) => [
      name,
      secrets.has(name) && value !== undefined ? { [WIRE_SIGNATURE]: WIRE_SECRET, value } : value,
    ]),
  );
}

function structOf(members: readonly (readonly [string, unknown])[]): Struct {
  const struct = new Struct();
  const fields = struct.getFieldsMap();
  for (const [name, value] of members) if (value !== undefined) fields.set(name, valueOf(value));
  return struct;
}

function valueOf(value: unknown): Value {
  const message = new Value();
  if (typeof value === "string") message.setStringValue(value);
  else if (typeof value === "number") message.setNumberValue(value);
  else if (typeof value === "boolean") message.setBoolValue(value);
  else if (Buffer.isBuffer(value)) message.setStringValue(value.toString("base64"));
  else if (Array.isArray(value)) {
    const list = new ListValue();
    list.setValuesList(value.map(valueOf));
    message.setListValue(list);
  } else if (isJsonObject(value)) message.setStructValue(structOf(Object.entries(value)));
  else message.setNullValue(NullValue.NULL_VALUE);
  return message;
}
