import { Server, ServerCredentials } from "@grpc/grpc-js";
import { ResourceProviderService } from "@pulumi/pulumi/proto/provider_grpc_pb";
import { methodsOf } from "./service";
import { Provider } from "./provider";

/** The plugin's process. The engine reads the port from its first line of output, and then calls it. */

/** The same limit as in Pulumi's SDKs. A program may declare many entries inline. */
const MAX_MESSAGE_BYTES = 400 * 1024 * 1024;

const server = new Server({
  "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
  "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
});
const [engine] = process.argv.slice(2);
server.addService(ResourceProviderService, methodsOf(new Provider(engine)));
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error === null) return void process.stdout.write(`${port}\n`);
  process.stderr.write(`edgeguard: the provider plugin can't listen on 127.0.0.1: ${error.message}\n`);
  process.exit(1);
});
