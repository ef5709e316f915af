import type { ServiceError } from "@grpc/grpc-js";
import * as rpc from "@pulumi/pulumi/proto/provider_pb";
import { REGISTER } from "../../provider/register";
import { isJsonObject, omit, type JsonObject } from "../../provider/basics/json";
import type { Verbs } from "../../provider/runtime/verbs";
import { partOf, plain, secret, struct, urn, type PluginClient } from "./client";

/** A type's verbs, which the plugin's process carries out. */

/** Inputs that only the classes add. */
const OF_CLASS = ["__provider", "__resourceName", "__secrets", "__savedPlan"];

const SIGNATURE = Object.keys(secret("")).find((key) => key !== "value") ?? "";

const isMarked = (value: unknown): value is JsonObject => isJsonObject(value) && SIGNATURE in value;

/** What the engine sends: JSON, with marked secrets. */
function sent(values: JsonObject, secrets: readonly string[]): JsonObject {
  const given = JSON.parse(JSON.stringify(omit(values, ["__provider"]))) as JsonObject;
  return Object.fromEntries(
    Object.entries(given).map(([key, value]) => [key, secrets.includes(key) ? secret(value) : value]),
  );
}

/** @param shown takes everything of a response that isn't marked as secret. */
export function pluginVerbs(plugin: PluginClient, type: string, shown: (text: string) => void): Verbs {
  const own = REGISTER[type];
  if (own === undefined) throw new Error(`no type ${type}`);
  const { facts } = own;
  const name = ({ __resourceName: given }: JsonObject): string =>
    urn(type, typeof given === "string" ? given : "it");
  const open = (values: JsonObject): JsonObject => {
    shown(JSON.stringify(values, (_key, value: unknown) => (isMarked(value) ? "[secret]" : value)));
    return Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, isMarked(value) ? value["value"] : value]),
    );
  };
  const half = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      const failed = error as ServiceError;
      const part = partOf(failed);
      if (part === undefined) throw new Error(failed.details);
      const [id, reasons] = [part.getId(), part.getReasonsList()];
      const properties = open(plain(part.getProperties()));
      throw Object.assign(new Error(failed.details), { id, properties, reasons });
    }
  };
  return {
    facts,
    async check(_host, olds, news) {
      const marked = Array.isArray(news["__secrets"]) ? (news["__secrets"] as string[]) : [];
      const secrets = [...marked, ...Object.keys(facts.secret ?? {})];
      const request = new rpc.CheckRequest()
        .setUrn(name(news))
        .setOlds(struct(sent(olds, [])))
        .setNews(struct(sent(omit(news, OF_CLASS), secrets)));
      const response = await half(plugin.call<rpc.CheckResponse>("check", request));
      const failures = response
        .getFailuresList()
        .map((each) => ({ property: each.getProperty(), reason: each.getReason() }));
      return { inputs: open(plain(response.getInputs())), failures };
    },
    async diff(_host, id, olds, news) {
      const request = new rpc.DiffRequest()
        .setUrn(name(news))
        .setId(id)
        .setOlds(struct(sent(olds, [])))
        .setNews(struct(sent(news, [])));
      const response = await half(plugin.call<rpc.DiffResponse>("diff", request));
      const changes = response.getChanges() === rpc.DiffResponse.DiffChanges.DIFF_SOME;
      return {
        changes,
        changed: [],
        replaces: response.getReplacesList(),
        deleteBeforeReplace: response.getDeletebeforereplace(),
      };
    },
    async create(_host, inputs) {
      const request = new rpc.CreateRequest().setUrn(name(inputs)).setProperties(struct(sent(inputs, [])));
      const response = await half(plugin.call<rpc.CreateResponse>("create", request));
      return { id: response.getId(), outs: open(plain(response.getProperties())) };
    },
    async read(_host, id, props) {
      const request = new rpc.ReadRequest()
        .setUrn(name(props))
        .setId(id)
        .setProperties(struct(sent(props, [])));
      const response = await half(plugin.call<rpc.ReadResponse>("read", request));
      const [found, inputs] = [response.getProperties(), response.getInputs()].map((each) =>
        open(plain(each)),
      );
      return { id: response.getId(), props: found ?? {}, inputs: inputs ?? {} };
    },
    async update(_host, id, olds, news) {
      const request = new rpc.UpdateRequest()
        .setUrn(name(news))
        .setId(id)
        .setOlds(struct(sent(olds, [])))
        .setNews(struct(sent(news, [])));
      const response = await half(plugin.call<rpc.UpdateResponse>("update", request));
      return { outs: open(plain(response.getProperties())) };
    },
    async delete(_host, id, props) {
      const request = new rpc.DeleteRequest()
        .setUrn(name(props))
        .setId(id)
        .setProperties(struct(sent(props, [])));
      await half(plugin.call("delete", request));
    },
  };
}
