module.exports = globalThis.shared("@grpc/grpc-js");
