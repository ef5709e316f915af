export * from "./api";
export * from "./driver";
export * from "./engine/index";
