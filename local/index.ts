export * from "./api";
export * from "./driver";
