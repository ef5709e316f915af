/** A state directory in the CLI's layout, so that the CLI and this engine can take turns. */
import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir, hostname, userInfo } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { CommandError, EXIT, unlessMissing, UnsupportedError } from "./errors";
import type { Project } from "./project";
import { parseDeployment, type DeploymentJson } from "./state-json";
import type { JsonMap } from "./values";

const lockSchema = z.object({
  pid: z.number(),
  username: z.string(),
  hostname: z.string(),
  timestamp: z.string(),
});

const checkpointSchema = z.object({
  version: z.literal(3, { error: "only state version 3 is supported" }),
  checkpoint: z.looseObject({ latest: z.unknown().optional() }),
});

const selectionSchema = z.looseObject({ stacks: z.record(z.string(), z.string()).optional() });

export class Backend {
  private constructor(
    readonly url: string,
    readonly root: string,
    readonly env: NodeJS.ProcessEnv,
  ) {}

  static async open(env: NodeJS.ProcessEnv): Promise<Backend> {
    const url = env["PULUMI_BACKEND_URL"];
    if (url === undefined) {
      throw new CommandError(
        "no state directory: set PULUMI_BACKEND_URL to file://<directory>",
        EXIT.badInvocation,
      );
    }
    const root = folderOf(url);
    if (!existsSync(root))
      throw new CommandError(
        `the state directory ${root} doesn't exist. Create it with \`mkdir -p ${root}\``,
      );
    const backend = new Backend(url, path.join(root, ".pulumi"), env);
    await backend.#checkLayout();
    return backend;
  }

  async #checkLayout(): Promise<void> {
    const file = path.join(this.root, "meta.yaml");
    const meta = await readIfExists(file);
    if (meta === undefined) {
      const legacy = (await filesIn(path.join(this.root, "stacks"))).some((name) => name.endsWith(".json"));
      if (legacy)
        throw new UnsupportedError(
          "state directories without projects (layout version 0)",
          "run `pulumi state upgrade`",
        );
      await writeAtomically(file, "version: 1\n");
    } else if (!/^version: 1\s*$/m.test(meta)) {
      throw new UnsupportedError(`this state directory's layout (${meta.trim()})`);
    }
  }

  stack(project: Project, name: string): StackStore {
    return new StackStore(this.url, this.root, project, name);
  }

  async select(project: Project, stack: string): Promise<void> {
    const stacks = await this.#selections(project);
    stacks[this.url] = `organization/${project.name}/${stack}`;
    await writeAtomically(this.#selectionFile(project), JSON.stringify({ stacks }, undefined, 4));
  }

  async selected(project: Project): Promise<string | undefined> {
    const name = (await this.#selections(project))[this.url];
    return name?.split("/").at(-1);
  }

  async #selections(project: Project): Promise<Record<string, string>> {
    const text = await readIfExists(this.#selectionFile(project));
    return text === undefined ? {} : (selectionSchema.parse(JSON.parse(text)).stacks ?? {});
  }

  /**
   * Returns the file with the selected stack: the CLI's own if PULUMI_HOME is set. Never writes to the user's
   * ~/.pulumi.
   */
  #selectionFile(project: Project): string {
    const home = this.env["PULUMI_HOME"] ?? path.join(this.root, "selected");
    const hash = createHash("sha1").update(project.file).digest("hex");
    return path.join(home, "workspaces", `${project.name}-${hash}-workspace.json`);
  }
}

function folderOf(url: string): string {
  if (!url.startsWith("file://"))
    throw new UnsupportedError(`the backend ${url}`, "PULUMI_BACKEND_URL must be file://<directory>");
  if (url.includes("?"))
    throw new UnsupportedError(`backend URL parameters (${url.slice(url.indexOf("?"))})`);
  const given = url.slice("file://".length);
  if (given.startsWith("~")) return path.join(homedir(), given.slice(1));
  return given.startsWith("/") ? fileURLToPath(url) : path.resolve(given);
}

/** One stack: its checkpoint and its lock. */
export class StackStore {
  readonly #file: string;
  readonly #lockDirectory: string;
  readonly #lockFile: string;

  constructor(
    readonly url: string,
    readonly root: string,
    readonly project: Project,
    readonly name: string,
  ) {
    if (!/^[\w.-]{1,100}$/.test(name))
      throw new CommandError(
        `invalid stack name ${name}: use 1 to 100 letters, digits, underscores, hyphens and periods`,
        EXIT.badInvocation,
      );
    this.#file = path.join(root, "stacks", project.name, `${name}.json`);
    this.#lockDirectory = path.join(root, "locks", "organization", project.name, name);
    this.#lockFile = path.join(this.#lockDirectory, `${randomUUID()}.json`);
  }

  get exists(): boolean {
    if (existsSync(`${this.#file}.gz`)) throw new UnsupportedError("compressed state files");
    return existsSync(this.#file);
  }

  async load(): Promise<DeploymentJson> {
    if (!this.exists) throw new CommandError(`no stack named '${this.name}' found`, EXIT.stackNotFound);
    const parsed = checkpointSchema.safeParse(JSON.parse(await readFile(this.#file, "utf8")));
    if (!parsed.success) throw new CommandError(`${this.#file}: ${z.prettifyError(parsed.error)}`);
    return parseDeployment(parsed.data.checkpoint.latest ?? {});
  }

  /** Saves the checkpoint atomically: readers see either the old file or the new one. */
  async save(deployment: JsonMap | undefined): Promise<void> {
    const stack = `organization/${this.project.name}/${this.name}`;
    await writeAtomically(
      this.#file,
      JSON.stringify({ version: 3, checkpoint: { stack, ...(deployment && { latest: deployment }) } }),
    );
    // The CLI keeps a checksum beside its files. The old one no longer matches.
    await rm(`${this.#file}.attrs`, { force: true });
  }

  /** Locks the stack. As with the CLI, the lock of a crashed process stays until the user removes it. */
  async lock(): Promise<void> {
    await this.#refuseForeignLocks();
    const content = {
      pid: process.pid,
      username: userInfo().username,
      hostname: hostname(),
      timestamp: new Date().toISOString(),
    };
    await writeAtomically(this.#lockFile, JSON.stringify(content));
    try {
      await this.#refuseForeignLocks();
    } catch (error) {
      await this.unlock();
      throw error;
    }
  }

  async unlock(): Promise<void> {
    await rm(this.#lockFile, { force: true });
    await rm(`${this.#lockFile}.attrs`, { force: true });
  }

  async breakLocks(): Promise<void> {
    await rm(this.#lockDirectory, { recursive: true, force: true });
  }

  async #refuseForeignLocks(): Promise<void> {
    const foreign = (await filesIn(this.#lockDirectory))
      .filter((name) => name.endsWith(".json"))
      .map((name) => path.join(this.#lockDirectory, name))
      .filter((file) => file !== this.#lockFile);
    if (foreign.length === 0) return;
    const owners = await Promise.all(foreign.map(async (file) => `\n  ${await this.#describeLock(file)}`));
    throw new CommandError(
      `the stack is currently locked by ${foreign.length} lock(s). Either wait for the other process(es) to end or delete the lock file with \`pulumi cancel\`.${owners.join("")}`,
    );
  }

  async #describeLock(file: string): Promise<string> {
    const lock = lockSchema.parse(JSON.parse(await readFile(file, "utf8")));
    const at = `${this.url}/${path.relative(path.dirname(this.root), file)}`;
    return `${at}: created by ${lock.username}@${lock.hostname} (pid ${lock.pid}) at ${lock.timestamp}`;
  }
}

const filesIn = (directory: string): Promise<string[]> => unlessMissing(readdir(directory), []);

const readIfExists = (file: string): Promise<string | undefined> =>
  unlessMissing(readFile(file, "utf8"), undefined);

async function writeAtomically(file: string, content: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const temporary = `${file}.${randomUUID()}.tmp`;
  await writeFile(temporary, content, { mode: 0o600 });
  await rename(temporary, file);
}
