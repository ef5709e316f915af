/** The package's version, which is also sent in the User-Agent header. A test compares it with package.json. */
export const VERSION = "0.1.0";
