/** Both entry points import this first, so that an old Node.js fails with this message instead of a library's syntax
 * error.
 */
const [MAJOR = 0, MINOR = 0, PATCH = 0] = process.versions.node.split(".").map(Number);
if (MAJOR < 20 || (MAJOR === 20 && (MINOR < 18 || (MINOR === 18 && PATCH < 1)))) {
  throw new Error(
    `pulumi-edgeguard needs Node.js 20.18.1 or newer; this is ${process.versions.node}. Install a newer Node.js.`,
  );
}

export {};
