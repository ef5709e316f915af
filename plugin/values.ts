import { Struct, Value, type JavaScriptValue } from "google-protobuf/google/protobuf/struct_pb";
import { UNKNOWN, WIRE_SECRET, type JsonObject } from "pulumi-edgeguard/plugin";

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

/** Reads a message. */
export function received(struct: Struct | undefined): Received {
  const secrets = new Set<string>();
  const values = membersOf(struct, (name) => secrets.add(name));
  return { values, secrets: [...secrets].sort() };
}

/** Unlike the library, keeps a member named `__proto__` as an ordinary one. */
function membersOf(struct: Struct | undefined, foundSecret: (name: string) => void): JsonObject {
  const members: [string, unknown][] = [];
  struct?.getFieldsMap().forEach((value: Value, name: string) => {
    members.push([name, plain(value, () => foundSecret(name))]);
  });
  return Object.fromEntries(members);
}

function plain(value: Value, foundSecret: () => void): unknown {
  switch (value.getKindCase()) {
    case Value.KindCase.STRING_VALUE:
      return UNKNOWNS.includes(value.getStringValue()) ? UNKNOWN : value.getStringValue();
    case Value.KindCase.LIST_VALUE:
      return value
        .getListValue()
        ?.getValuesList()
        .map((each) => plain(each, foundSecret));
    case Value.KindCase.STRUCT_VALUE: {
      const object = membersOf(value.getStructValue(), foundSecret);
      if (object[WIRE_SECRET.member] !== WIRE_SECRET.mark) return object;
      foundSecret();
      return object["value"];
    }
    default:
      return value.toJavaScript();
  }
}

/** Writes a message. Marks the named properties as secret. */
export function sent(values: JsonObject, secrets: ReadonlySet<string> = new Set()): Struct {
  const marked = Object.entries(values).map(([name, value]) => [
    name,
    secrets.has(name) && value !== undefined ? { [WIRE_SECRET.member]: WIRE_SECRET.mark, value } : value,
  ]);
  // JSON has no undefined members, which the library refuses.
  const json = JSON.stringify(Object.fromEntries(marked));
  return Struct.fromJavaScript(JSON.parse(json) as Record<string, JavaScriptValue>);
}
