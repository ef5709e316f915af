/** Every path of the vendor's API starts so. */
export const BASE_PATH = "/client/v4";

/** What is ours: faults, the request log, the state. */
export const CONTROL_PATH = "/__local";
