/** Imported first by both doors of the package: an old Node fails with this sentence, not with a syntax error of a library. */
const [major = 0, minor = 0, patch = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && (minor < 18 || (minor === 18 && patch < 1)))) {
  throw new Error(
    `pulumi-edgeguard needs Node.js 20.18.1 or newer; this is ${process.versions.node}. Install a newer Node.js.`,
  );
}

export {};
