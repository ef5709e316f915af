/**
 * Puts the provider plugin between a dynamic provider host and the lifecycles: calls to `pulumi-edgeguard/runtime`
 * go to the plugin's process over gRPC, as from an engine. The host loads this file with `node --require`.
 */

const { spawn } = require("node:child_process");
const Module = require("node:module");
const { join } = require("node:path");

const REPOSITORY = join(__dirname, "../..");
const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

const resolve = Module._resolveFilename;
Module._resolveFilename = function (request, ...rest) {
  return request === "pulumi-edgeguard/runtime" ? __filename : resolve.call(this, request, ...rest);
};

let plugin;

/** The plugin's client. It starts once the engine's configuration is known. */
function started(settings, name) {
  const from = Module.createRequire(join(REPOSITORY, "package.json"));
  const grpc = from("@grpc/grpc-js");
  const rpc = from("@pulumi/pulumi/proto/provider_pb");
  const { ResourceProviderClient } = from("@pulumi/pulumi/proto/provider_grpc_pb");
  const { Struct } = from("google-protobuf/google/protobuf/struct_pb");
  const { Status } = from("@pulumi/pulumi/proto/status_pb");
  const child = spawn(join(REPOSITORY, "plugin/pulumi-resource-edgeguard"), [process.argv[2]], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  // The plugin treats this process as its engine. It ends with the real engine and passes on its signals.
  for (const event of ["end", "close"]) process.stdin.on(event, () => process.exit(1));
  process.stdin.resume();
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code) => process.exit(code ?? 1));
  const port = new Promise((found) => {
    let first = "";
    child.stdout.on("data", (chunk) => {
      if (first === undefined) return void process.stdout.write(chunk);
      first += chunk;
      const end = first.indexOf("\n");
      if (end < 0) return;
      found(first.slice(0, end));
      process.stdout.write(first.slice(end + 1));
      first = undefined;
    });
  });
  const client = port.then(
    (on) =>
      new ResourceProviderClient(`127.0.0.1:${on}`, grpc.credentials.createInsecure(), {
        "grpc.max_receive_message_length": -1,
        "grpc.max_send_message_length": -1,
      }),
  );
  const call = async (method, request) => {
    const to = await client;
    return await new Promise((done, fail) => {
      to[method](request, (error, response) => {
        if (error === null) return void done(response);
        const shown = Object.assign(new Error(error.details), { stack: "" });
        const [whole] = error.metadata?.get("grpc-status-details-bin") ?? [];
        if (whole !== undefined) {
          const detail = Status.deserializeBinary(whole).getDetailsList()[0];
          const half = detail.unpack(
            rpc.ErrorResourceInitFailed.deserializeBinary,
            "pulumirpc.ErrorResourceInitFailed",
          );
          Object.assign(shown, {
            id: half.getId(),
            properties: plain(half.getProperties().toJavaScript()),
            reasons: half.getReasonsList(),
          });
        }
        fail(shown);
      });
    });
  };
  const struct = (values) => Struct.fromJavaScript(JSON.parse(JSON.stringify(values)));
  const handshake = new rpc.ProviderHandshakeRequest();
  handshake.setEngineAddress(process.argv[2]);
  const configure = new rpc.ConfigureRequest();
  configure.setArgs(struct(settings)).setAcceptsecrets(true).setName(name);
  const ready = call("handshake", handshake).then(() => call("configure", configure));
  return { rpc, struct, call: async (...args) => (await ready, await call(...args)) };
}

exports.configure = (_type, { config }) => {
  const name = config.get("edgeguard:provider");
  const { CONFIG_KEYS } = require(join(REPOSITORY, "provider/dist/runtime/settings"));
  const settings = CONFIG_KEYS.map((key) => [key, config.get(`edgeguard:${key}`)]);
  plugin ??= started(
    Object.fromEntries(settings.filter(([, value]) => value !== undefined)),
    name ?? "default",
  );
};

/** Inputs that only the TypeScript classes add. */
const OF_CLASS = ["__provider", "__resourceName", "__secrets", "__declaredKeys", "__savedPlan"];

/** Inputs as a program in another language passes them. */
function written(news) {
  const names = [...(news.__secrets ?? []), "entries", "destinationConf", "ownershipChallenge"];
  return Object.fromEntries(
    Object.entries(news)
      .filter(([key, value]) => !OF_CLASS.includes(key) && value !== undefined && value !== "")
      .map(([key, value]) => [key, names.includes(key) ? { [SIGNATURE]: SECRET, value } : value]),
  );
}

const plain = (values) =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, value?.[SIGNATURE] === SECRET ? value.value : value]),
  );
const recorded = ({ __provider, ...values }) => values;
const urnOf = (type, { __resourceName: name }) =>
  `urn:pulumi:dev::scenario::edgeguard:index:${type}::${name}`;

exports.check = async (type, olds, news) => {
  const { rpc, struct, call } = plugin;
  const request = new rpc.CheckRequest()
    .setUrn(urnOf(type, news))
    .setOlds(struct(recorded(olds)))
    .setNews(struct(written(news)));
  const response = await call("check", request);
  const inputs = response.getInputs().toJavaScript();
  for (const name of inputs.__secrets ?? [])
    if (name in inputs && inputs[name][SIGNATURE] !== SECRET)
      throw new Error(`${name} is not marked as secret`);
  const failures = response
    .getFailuresList()
    .map((each) => ({ property: each.getProperty(), reason: each.getReason() }));
  return { inputs: plain(inputs), failures };
};

/** Fills a request about a recorded resource and its new inputs. */
function ofChange(request, { type, id, olds, news }) {
  const { struct } = plugin;
  return request
    .setUrn(urnOf(type, news))
    .setId(id)
    .setOlds(struct(recorded(olds)))
    .setNews(struct(recorded(news)));
}

exports.diff = async (type, id, olds, news) => {
  const { rpc, call } = plugin;
  const response = await call("diff", ofChange(new rpc.DiffRequest(), { type, id, olds, news }));
  return {
    changes: response.getChanges() === rpc.DiffResponse.DiffChanges.DIFF_SOME,
    replaces: response.getReplacesList(),
    deleteBeforeReplace: response.getDeletebeforereplace(),
  };
};

exports.create = async (type, inputs) => {
  const { rpc, struct, call } = plugin;
  const request = new rpc.CreateRequest().setUrn(urnOf(type, inputs)).setProperties(struct(recorded(inputs)));
  const response = await call("create", request).catch(withProvider(inputs));
  return { id: response.getId(), outs: plain(response.getProperties().toJavaScript()) };
};

exports.read = async (type, id, props) => {
  const { rpc, struct, call } = plugin;
  const request = new rpc.ReadRequest().setUrn(urnOf(type, props)).setId(id).setProperties(struct(props));
  const response = await call("read", request);
  const found = response.getId();
  if (found === "") return { id: "" };
  const [outs, inputs] = [response.getProperties(), response.getInputs()].map((each) =>
    plain(each.toJavaScript()),
  );
  return { id: found, props: outs, inputs };
};

exports.update = async (type, id, olds, news) => {
  const { rpc, call } = plugin;
  const request = ofChange(new rpc.UpdateRequest(), { type, id, olds, news });
  const response = await call("update", request).catch(withProvider(news));
  return { outs: plain(response.getProperties().toJavaScript()) };
};

exports.delete = async (type, id, props) => {
  const { rpc, struct, call } = plugin;
  await call(
    "delete",
    new rpc.DeleteRequest()
      .setUrn(urnOf(type, props))
      .setId(id)
      .setProperties(struct(recorded(props))),
  );
};

/** The engine also needs the provider's code to record a partially created dynamic resource. */
function withProvider({ __provider }) {
  return (error) => {
    if (error.properties !== undefined) error.properties.__provider = __provider;
    throw error;
  };
}
