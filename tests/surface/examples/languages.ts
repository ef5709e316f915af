import { stringify } from "yaml";
import type { Call, Member, Program, Resource, Setting, Spec, Value } from "./program";

/** Prints an example in each language, as a program of the SDK that Pulumi generates from the schema. */

interface Language {
  readonly config: string;
  readonly setting: (setting: Setting) => string;
  readonly resource: (resource: Resource) => string;
  readonly call: (call: Call) => string;
  /** The whole program. `isUsed` tells whether its body contains a text. */
  readonly frame: (body: string, isUsed: (text: string) => boolean) => string;
}

/** Text one step deeper. */
const deeper = (text: string, step = "    "): string => text.replace(/^(?=.)/gm, step);

/** Elements between brackets, each in a line of its own. */
function spread(open: string, elements: readonly string[], close: string, step?: string, end = ","): string {
  if (elements.length === 0) return open + close;
  return `${open}\n${deeper(elements.map((each) => `${each}${end}\n`).join(""), step)}${close}`;
}

/** The same in one line, if they fit. */
function enclosed(open: string, elements: readonly string[], close: string): string {
  const line = open + elements.join(", ") + close;
  return line.length < 90 && !line.includes("\n") ? line : spread(open.trim(), elements, close.trim());
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const snake = (text: string): string => text.replace(/(?<=[a-z\d])[A-Z]/g, "_$&").toLowerCase();
const double = (text: string): string => JSON.stringify(text);
const single = (text: string): string =>
  text.includes('"') ? `'${text.replaceAll("'", "\\'")}'` : double(text);
const pairs = (
  members: readonly Member[],
  between: string,
  key: (name: string) => string,
  value: Print,
): string[] => members.map(([name, each]) => `${key(name)}${between}${value(each)}`);

type Print = (value: Value) => string;

function typescript(): Language {
  const key = (name: string): string => (/^[a-z]\w*$/i.test(name) ? name : double(name));
  const object = (members: readonly Member[]): string => spread("{", pairs(members, ": ", key, value), "}");
  const value: Print = (of) => {
    if (of.kind === "reference") return of.output === undefined ? of.name : `${of.name}.${of.output}`;
    if (of.kind === "list") return enclosed("[", of.items.map(value), "]");
    if (of.kind === "map" || of.kind === "object") return object(of.members);
    return typeof of.value === "string" ? single(of.value) : String(of.value);
  };
  return {
    config: "const config = new pulumi.Config();",
    setting: ({ name, secret }) => `const ${name} = config.require${secret ? "Secret" : ""}("${name}");`,
    resource: ({ name, type, args, protect }) =>
      `const ${name} = new edgeguard.${type}("${name}", ${object(args)}${protect ? ", { protect: true }" : ""});`,
    call: ({ name, fn, args, output }) =>
      `const result = edgeguard.${fn}Output(${args.length > 0 ? object(args) : ""});\nexport const ${name} = result.${output};`,
    frame: (body, isUsed) =>
      `${isUsed("pulumi.") ? 'import * as pulumi from "@pulumi/pulumi";\n' : ""}import * as edgeguard from "pulumi-edgeguard-sdk";\n\n${body}`,
  };
}

function python(): Language {
  const args = (members: readonly Member[]): string[] => pairs(members, "=", snake, value);
  const value: Print = (of) => {
    if (of.kind === "reference") return snake(of.output === undefined ? of.name : `${of.name}.${of.output}`);
    if (of.kind === "enum") return `edgeguard.${of.type}.${snake(of.name).toUpperCase()}`;
    if (of.kind === "list") return enclosed("[", of.items.map(value), "]");
    if (of.kind === "map") return spread("{", pairs(of.members, ": ", double, value), "}");
    if (of.kind === "object")
      return spread(
        "{",
        pairs(of.members, ": ", (name) => double(snake(name)), value),
        "}",
      );
    return typeof of.value === "string" ? single(of.value) : capital(String(of.value));
  };
  return {
    config: "config = pulumi.Config()",
    setting: ({ name, secret }) => `${snake(name)} = config.require${secret ? "_secret" : ""}("${name}")`,
    resource({ name, type, args: given, protect }) {
      const opts = protect ? ["opts=pulumi.ResourceOptions(protect=True)"] : [];
      return spread(`${snake(name)} = edgeguard.${type}(`, [double(name), ...args(given), ...opts], ")");
    },
    call: ({ name, fn, args: given, output }) =>
      `${enclosed(`result = edgeguard.${snake(fn)}_output(`, args(given), ")")}\npulumi.export("${name}", result.${snake(output)})`,
    frame: (body, isUsed) =>
      `${isUsed("pulumi.") ? "import pulumi\n" : ""}import pulumi_edgeguard as edgeguard\n\n${body}`,
  };
}

function go(): Language {
  /** Members in one line have their values in one column, as gofmt writes them. */
  const object = (open: string, members: readonly Member[], key = capital): string => {
    const rows = members.map(([name, each]) => ({ key: `${key(name)}:`, text: value(each) }));
    const isLong = (at: number): boolean => rows[at]?.text.includes("\n") !== false;
    const lines = rows.map((row, at) => {
      let [from, to] = [at, at + 1];
      if (!isLong(at)) {
        while (!isLong(from - 1)) from--;
        while (!isLong(to)) to++;
      }
      const width = Math.max(...rows.slice(from, to).map((each) => each.key.length));
      return `${row.key.padEnd(width)} ${row.text}`;
    });
    return spread(`${open}{`, lines, "}", "\t");
  };
  const generic = { string: "pulumi.String", integer: "pulumi.Int", boolean: "pulumi.Bool", any: "pulumi." };
  const nameOf = (type: string): string =>
    Object.entries(generic).find(([name]) => name === type)?.[1] ?? `edgeguard.${type}`;
  const value: Print = (of) => {
    if (of.kind === "reference" && of.output !== undefined)
      return `${of.name}.${of.output === "id" ? "ID" : capital(of.output)}()`;
    if (of.kind === "reference") return of.secret ? of.name : `pulumi.String(${of.name})`;
    if (of.kind === "enum") return `edgeguard.${of.type}${of.name}`;
    if (of.kind === "list") return spread(`${nameOf(of.of)}Array{`, of.items.map(value), "}", "\t");
    if (of.kind === "map") return object(`${nameOf(of.of)}Map`, of.members, double);
    if (of.kind === "object") return object(`${of.plain ? "&" : ""}edgeguard.${of.type}Args`, of.members);
    if (typeof of.value === "string")
      return `pulumi.String(${of.value.includes('"') ? `\`${of.value}\`` : double(of.value)})`;
    if (typeof of.value === "boolean") return `pulumi.Bool(${of.value})`;
    return `pulumi.${Number.isInteger(of.value) ? "Int" : "Float64"}(${of.value})`;
  };
  return {
    config: 'cfg := config.New(ctx, "")',
    setting: ({ name, secret }) => `${name} := cfg.Require${secret ? "Secret" : ""}("${name}")`,
    resource({ name, type, args, protect, isUsed }) {
      const given = object(`&edgeguard.${type}Args`, args);
      const made = `edgeguard.New${type}(ctx, "${name}", ${given}${protect ? ", pulumi.Protect(true)" : ""})`;
      const failed = "err != nil {\n\treturn err\n}";
      return isUsed ? `${name}, err := ${made}\nif ${failed}` : `if _, err := ${made}; ${failed}`;
    },
    call({ name, fn, isLookup, args, output }) {
      const called = `edgeguard.${isLookup ? fn.replace(/^get/, "Lookup") : capital(fn)}Output`;
      return `result := ${called}(ctx, ${object(`${called}Args`, args)})\nctx.Export("${name}", result.${capital(output)}())`;
    },
    frame: (body, isUsed) => `package main

import (
	"github.com/pulumi-edgeguard/pulumi-edgeguard/sdk/go/edgeguard"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"${isUsed("config.") ? '\n\t"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"' : ""}
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
${deeper(body, "\t\t")}
		return nil
	})
}`,
  };
}

function csharp(): Language {
  const block = (open: string, lines: readonly string[]): string => spread(`${open}\n{`, lines, "}");
  const args = (members: readonly Member[]): string[] => pairs(members, " = ", capital, value);
  const formName = ({ type = "", $ref }: Spec): string =>
    $ref === undefined
      ? type.replace("integer", "int")
      : `Edgeguard.Inputs.${$ref.split(":").at(-1) ?? ""}Args`;
  /** Only an argument takes each form of a union, and no element of a list or map. */
  const element: Print = (of) =>
    of.forms
      ? `Union<${of.forms.all.map(formName).join(", ")}>.FromT${of.forms.at}(${value(of)})`
      : value(of);
  const value: Print = (of) => {
    if (of.kind === "reference")
      return of.output === undefined ? of.name : `${of.name}.${capital(of.output)}`;
    if (of.kind === "enum") return `Edgeguard.${of.type}.${of.name}`;
    if (of.kind === "object") return block(`new Edgeguard.Inputs.${of.type}Args`, args(of.members));
    if (of.kind === "map")
      return block(
        "",
        of.members.map(([key, each]) => `{ ${double(key)}, ${element(each)} }`),
      ).trim();
    if (of.kind !== "list") return typeof of.value === "string" ? double(of.value) : String(of.value);
    const items = of.items.map(element);
    return items.join().includes("\n") ? block("new[]", items) : enclosed("new[] { ", items, " }");
  };
  return {
    config: "var config = new Config();",
    setting: ({ name, secret }) => `var ${name} = config.Require${secret ? "Secret" : ""}("${name}");`,
    resource({ name, type, args: given, protect }) {
      const opts = protect ? ", new CustomResourceOptions { Protect = true }" : "";
      return `var ${name} = ${block(`new Edgeguard.${type}("${name}", new()`, args(given))}${opts});`;
    },
    call: ({ name, fn, args: given, output }) =>
      `var result = Edgeguard.${capital(fn)}.Invoke(${given.length > 0 ? block("new()", args(given)) : ""});\n${block(
        "return new Dictionary<string, object?>",
        [`["${name}"] = result.Apply(of => of.${capital(output)})`],
      )};`,
    frame: (body) => `using System.Collections.Generic;
using Pulumi;
using Edgeguard = Pulumi.Edgeguard;

return await Deployment.RunAsync(() =>
{
${deeper(body)}
});`,
  };
}

function java(): Language {
  const builder = (type: string, members: readonly Member[]): string =>
    spread(
      `${type}.builder()`,
      [...members.map(([key, each]) => `.${key}(${argument(each)})`), ".build()"],
      "",
      undefined,
      "",
    ).trimEnd();
  /** A setter takes each form of a union, and the elements of a list. */
  const argument: Print = (of) => {
    if (of.kind === "list" && of.of !== "any") return of.items.map(element).join(", ");
    const isEither = of.forms !== undefined && of.kind === "reference" && of.output !== undefined;
    return isEither ? `${value(of)}.applyValue(Either::ofLeft)` : value(of);
  };
  const element: Print = (of) =>
    of.forms ? `Either.of${of.forms.at === 0 ? "Left" : "Right"}(${value(of)})` : value(of);
  const value: Print = (of) => {
    if (of.kind === "reference") return of.output === undefined ? of.name : `${of.name}.${of.output}()`;
    if (of.kind === "enum") return `${of.type}.${of.name}`;
    if (of.kind === "list") return enclosed("List.of(", of.items.map(element), ")");
    if (of.kind === "map")
      return `Map.of(\n${deeper(pairs(of.members, ", ", double, element).join(",\n"))}\n)`;
    if (of.kind === "object") return builder(`${of.type}Args`, of.members);
    return typeof of.value === "string" ? double(of.value) : String(of.value);
  };
  const IMPORTS: readonly (readonly [mark: string, name: string])[] = [
    ["Context", "Context"],
    ["Pulumi", "Pulumi"],
    ["Either", "core.Either"],
    ["", "edgeguard.*"],
    ["", "edgeguard.enums.*"],
    ["", "edgeguard.inputs.*"],
    ["CustomResourceOptions", "resources.CustomResourceOptions"],
  ];
  return {
    config: "var config = ctx.config();",
    setting: ({ name, secret }) => `var ${name} = config.require${secret ? "Secret" : ""}("${name}");`,
    resource({ name, type, args, protect }) {
      const opts = protect ? ", CustomResourceOptions.builder().protect(true).build()" : "";
      return `var ${name} = new ${type}("${name}", ${builder(`${type}Args`, args)}${opts});`;
    },
    call({ name, fn, args, output, objects }) {
      const called = `EdgeguardFunctions.${fn}(${args.length > 0 ? builder(`${capital(fn)}Args`, args) : ""})`;
      // As outputs of a stack, Pulumi's SDK refuses the objects of a result.
      const exported = {
        one: `of.${output}().map(new Gson()::toJson)`,
        list: `new Gson().toJson(of.${output}())`,
        none: `of.${output}()`,
      }[objects];
      return `var result = ${called};\nctx.export("${name}", result.applyValue(of -> ${exported}));`;
    },
    frame: (body, isUsed) => `${isUsed("Gson") ? "import com.google.gson.Gson;\n" : ""}${IMPORTS.filter(
      ([mark]) => isUsed(mark) || /^(Con|Pul)/.test(mark),
    )
      .map(([, name]) => `import com.pulumi.${name};`)
      .join("\n")}
${["List", "Map"].map((each) => (isUsed(`${each}.of(`) ? `import java.util.${each};\n` : "")).join("")}
public class App {
    public static void main(String[] args) {
        Pulumi.run(App::stack);
    }

    public static void stack(Context ctx) {
${deeper(deeper(body))}
    }
}`,
  };
}

function yaml({ settings, resources, call }: Program): string {
  const plain = (members: readonly Member[]): Record<string, unknown> =>
    Object.fromEntries(members.map(([key, each]) => [key, value(each)]));
  const value = (of: Value): unknown => {
    if (of.kind === "reference")
      return `\${${of.output === undefined ? of.name : `${of.name}.${of.output}`}}`;
    if (of.kind === "list") return of.items.map(value);
    return of.kind === "map" || of.kind === "object" ? plain(of.members) : of.value;
  };
  const config = settings.map(({ name, secret }) => [name, { type: "string", ...(secret && { secret }) }]);
  const declared = resources.map(({ name, type, args, protect }) => [
    name,
    { type: `edgeguard:${type}`, properties: plain(args), ...(protect && { options: { protect } }) },
  ]);
  const whole = {
    config: Object.fromEntries(config) as unknown,
    resources: Object.fromEntries(declared) as unknown,
    variables: call && {
      [call.name]: { "fn::invoke": { function: `edgeguard:${call.fn}`, arguments: plain(call.args) } },
    },
    outputs: call && { [call.name]: `\${${call.name}.${call.output}}` },
  };
  const parts = Object.entries(whole).filter(
    ([, part]) => part !== undefined && JSON.stringify(part) !== "{}",
  );
  return stringify(Object.fromEntries(parts), { lineWidth: 0 }).trimEnd();
}

function printer({ config, setting, resource, call, frame }: Language): (program: Program) => string {
  return (program) => {
    const settings = program.settings.length > 0 ? [config, ...program.settings.map(setting), ""] : [];
    const rest = [...program.resources.map(resource), ...(program.call ? [call(program.call)] : [])];
    const body = [...settings, ...rest].join("\n");
    return frame(body, (text) => body.includes(text));
  };
}

/** The printer of each language, under the name of its code blocks and in the Registry's order. */
export const LANGUAGES: Readonly<Record<string, (program: Program) => string>> = {
  typescript: printer(typescript()),
  python: printer(python()),
  go: printer(go()),
  csharp: printer(csharp()),
  java: printer(java()),
  yaml,
};
