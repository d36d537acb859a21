// What the page needs to speak gRPC-Web from the contracts alone: bundled into one module by `.ci/vendor`.
export { anyUnpack, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
export { create, createFileRegistry, fromBinary, toJson } from "@bufbuild/protobuf";
export { Code, ConnectError, createClient } from "@connectrpc/connect";
export { createGrpcWebTransport } from "@connectrpc/connect-web";
