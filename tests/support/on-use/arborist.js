/** Stands for @npmcli/arborist, which the SDK loads at every start and needs only to write functions as text. */
Object.defineProperty(exports, "__esModule", { value: true });
Object.defineProperty(exports, "Arborist", {
  enumerable: true,
  get: () => require("../../../node_modules/@npmcli/arborist/lib/index.js"),
});
