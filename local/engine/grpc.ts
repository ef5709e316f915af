/** Wraps gRPC calls in promises. */
import * as grpc from "@grpc/grpc-js";
import { Struct } from "google-protobuf/google/protobuf/struct_pb";
import { messageOf } from "./errors";
import { isJsonMap, type JsonMap } from "./values";

/** The Pulumi engine's own limit. Property maps can be large. */
const MAX_MESSAGE_BYTES = 400 * 1024 * 1024;
export const CHANNEL_OPTIONS = { "grpc.max_receive_message_length": MAX_MESSAGE_BYTES };

/** Thrown to signal to the SDK that the engine is stopping. The SDK then ends the program silently. */
export class EngineStopped extends Error {
  override readonly name = "EngineStopped";
  constructor() {
    super("resource monitor shut down");
  }
}

type Handler<Request, Response> = grpc.handleUnaryCall<Request, Response>;

export function handle<Request, Response>(
  respond: (request: Request) => Response | Promise<Response>,
): Handler<Request, Response> {
  return (call, callback) => {
    Promise.resolve()
      .then(() => respond(call.request))
      .then(
        (response) => {
          callback(null, response);
        },
        (error: unknown) => {
          const code = error instanceof EngineStopped ? grpc.status.UNAVAILABLE : grpc.status.UNKNOWN;
          callback({ code, details: messageOf(error) });
        },
      );
  };
}

type Done<Response> = (error: grpc.ServiceError | null, response: Response) => void;

export function send<Response>(call: (done: Done<Response>) => grpc.ClientUnaryCall): Promise<Response> {
  return new Promise((resolve, reject) => {
    call((error, response) => {
      if (error === null) resolve(response);
      else reject(error);
    });
  });
}

export async function listen(server: grpc.Server): Promise<string> {
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  return `127.0.0.1:${port}`;
}

export function fromStruct(struct: Struct | undefined): JsonMap {
  const json: unknown = struct?.toJavaScript() ?? {};
  return isJsonMap(json) ? json : {};
}

export function toStruct(map: JsonMap): Struct {
  return Struct.fromJavaScript(map);
}
