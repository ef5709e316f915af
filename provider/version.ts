/** The package's version: sent in User-Agent. A test holds it equal to package.json. */
export const VERSION = "0.1.0";
