/** Loads @npmcli/arborist only on use. The SDK loads it at every start, but needs it only to serialize functions. */
Object.defineProperty(exports, "__esModule", { value: true });
Object.defineProperty(exports, "Arborist", {
  enumerable: true,
  get: () => require("../../../node_modules/@npmcli/arborist/lib/index.js"),
});
