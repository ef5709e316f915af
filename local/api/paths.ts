/** Every path of the vendor's API starts so. */
export const basePath = "/client/v4";

/** What is ours: faults, the request log, the state. */
export const controlPath = "/__local";
