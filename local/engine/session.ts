/** A command's stack: its project, settings, secrets, state and lock. */
import { Backend, type StackStore } from "./backend";
import { CommandError, EXIT } from "./errors";
import { readProject, StackSettings, type Config, type Project } from "./project";
import { Crypter, readPassphrase } from "./secrets";
import type { Deployment } from "./state";
import { readDeployment, saltOf, sealWith, writeDeployment, type DeploymentJson } from "./state-json";

interface ProcessEnvironment {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

interface Workspace {
  readonly project: Project;
  readonly backend: Backend;
}

export async function openWorkspace({ cwd, env }: ProcessEnvironment): Promise<Workspace> {
  return { project: await readProject(cwd), backend: await Backend.open(env) };
}

export async function resolveStackName(
  workspace: Workspace,
  environment: ProcessEnvironment,
  requested: string | undefined,
): Promise<string> {
  const { project, backend } = workspace;
  const name = requested ?? environment.env["PULUMI_STACK"] ?? (await backend.selected(project));
  if (name === undefined) {
    throw new CommandError("no stack selected: run `stack select` or `stack init`, or pass --stack");
  }
  return shortName(name, project);
}

/** Returns a stack's short name. In a state directory, the full name is `organization/<project>/<stack>`. */
export function shortName(name: string, project: Project): string {
  const parts = name.split("/");
  if (parts.length === 1) return name;
  if (parts.length === 3 && parts[0] === "organization" && parts[1] === project.name) return parts[2] ?? name;
  throw new CommandError(
    `${name} isn't a stack of the project ${project.name}: use <stack> or organization/${project.name}/<stack>`,
    EXIT.badInvocation,
  );
}

export class Session {
  #openedCrypter: Promise<Crypter> | undefined;
  readonly #deploymentJson: DeploymentJson;

  private constructor(
    readonly project: Project,
    readonly store: StackStore,
    readonly settings: StackSettings,
    written: DeploymentJson,
    readonly env: NodeJS.ProcessEnv,
  ) {
    this.#deploymentJson = written;
  }

  static async open(environment: ProcessEnvironment, requested: string | undefined): Promise<Session> {
    const workspace = await openWorkspace(environment);
    const { project, backend } = workspace;
    const stack = await resolveStackName(workspace, environment, requested);
    const store = backend.stack(project, stack);
    const [written, settings] = await Promise.all([store.load(), StackSettings.read(project, stack)]);
    return new Session(project, store, settings, written, environment.env);
  }

  get stack(): string {
    return this.store.name;
  }

  /** Returns the stack's secrets. Deriving the key takes most of a second, so call this early. */
  crypter(): Promise<Crypter> {
    this.#openedCrypter ??= this.#openCrypter();
    return this.#openedCrypter;
  }

  async #openCrypter(): Promise<Crypter> {
    const passphrase = readPassphrase(this.env);
    const salt = this.settings.salt ?? saltOf(this.#deploymentJson);
    const holdsSecrets =
      this.settings.hasSecrets || JSON.stringify(this.#deploymentJson).includes('"ciphertext"');
    const crypter =
      salt === undefined
        ? await Crypter.create(passphrase)
        : holdsSecrets
          ? await Crypter.open(passphrase, salt)
          : Crypter.lazy(passphrase, salt);
    if (this.settings.salt === undefined) {
      this.settings.setSalt(crypter.salt);
      await this.settings.save();
    }
    return crypter;
  }

  config(): Promise<Config> {
    return this.settings.config(() => this.crypter());
  }

  /** Returns a new copy of the state each time, because runs change it in place. */
  async deployment(): Promise<Deployment> {
    return this.read(this.#deploymentJson);
  }

  async read(written: DeploymentJson): Promise<Deployment> {
    const crypter = await this.crypter();
    const salt = saltOf(written);
    const isOwn = salt === undefined || salt === crypter.salt;
    return readDeployment(written, isOwn ? crypter : await Crypter.open(readPassphrase(this.env), salt));
  }

  async save(deployment: Deployment): Promise<void> {
    const crypter = await this.crypter();
    await this.store.save(writeDeployment(deployment, crypter.salt, sealWith(crypter)));
  }

  async withLock<T>(work: () => Promise<T>): Promise<T> {
    await this.store.lock();
    try {
      return await work();
    } finally {
      await this.store.unlock();
    }
  }
}
