/**
 * Encrypts secrets like the CLI's passphrase provider: with one key per stack, derived from the passphrase and the
 * stack's salt.
 */
import { createCipheriv, createDecipheriv, pbkdf2, pbkdf2Sync, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { CommandError } from "./errors";
import type { Secret } from "./values";

const KEY_ITERATIONS = 1_000_000;
const KEY_BYTES = 32;
const SALT_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const PROBE = "pulumi";

const pbkdf2InThreadPool = promisify(pbkdf2);

/** The derived keys. As in the CLI, a process that runs several commands derives each key only once. */
const keys = new Map<string, Promise<Buffer>>();

function deriveKey(passphrase: string, salt: Buffer): Promise<Buffer> {
  const name = `${salt.toString("base64")}:${passphrase}`;
  const known = keys.get(name);
  if (known !== undefined) return known;
  const key = pbkdf2InThreadPool(passphrase, salt, KEY_ITERATIONS, KEY_BYTES, "sha256");
  keys.set(name, key);
  return key;
}

export class Crypter {
  /** The ciphertexts of secrets from the state. They're reused, so that an unchanged stack writes an unchanged file. */
  readonly #sealed = new WeakMap<Secret, string>();

  readonly #keyOf: () => Buffer;

  private constructor(
    keyOf: () => Buffer,
    /** The value of `encryptionsalt` in the stack's settings: "v1:<salt>:<the word 'pulumi', encrypted>". */
    readonly salt: string,
  ) {
    this.#keyOf = keyOf;
  }

  /** Creates the secrets for a stack that has no salt. */
  static async create(passphrase: string): Promise<Crypter> {
    const salt = randomBytes(SALT_BYTES);
    const key = await deriveKey(passphrase, salt);
    return new Crypter(() => key, `v1:${salt.toString("base64")}:${encrypt(PROBE, key)}`);
  }

  /**
   * Opens a stack's secrets. Deriving the key takes most of a second in the thread pool, so start this early and await
   * it late.
   */
  static async open(passphrase: string, saltText: string): Promise<Crypter> {
    const { salt, probe } = partsOf(saltText);
    const key = verifiedKey(await deriveKey(passphrase, salt), probe);
    return new Crypter(() => key, saltText);
  }

  /**
   * Opens the secrets of a stack that has none yet. Derives the key and checks the passphrase only when the first
   * secret is written.
   */
  static lazy(passphrase: string, saltText: string): Crypter {
    const { salt, probe } = partsOf(saltText);
    let key: Buffer | undefined;
    return new Crypter(() => {
      key ??= verifiedKey(pbkdf2Sync(passphrase, salt, KEY_ITERATIONS, KEY_BYTES, "sha256"), probe);
      return key;
    }, saltText);
  }

  encrypt(plaintext: string): string {
    return encrypt(plaintext, this.#keyOf());
  }

  decrypt(ciphertext: string): string {
    const plaintext = tryDecrypt(ciphertext, this.#keyOf());
    if (plaintext === undefined) {
      throw new CommandError(
        "can't decrypt a secret: it was encrypted with another passphrase, or is damaged. Check PULUMI_CONFIG_PASSPHRASE",
      );
    }
    return plaintext;
  }

  seal(secret: Secret, plaintext: string): string {
    const known = this.#sealed.get(secret);
    if (known !== undefined) return known;
    const ciphertext = this.encrypt(plaintext);
    this.#sealed.set(secret, ciphertext);
    return ciphertext;
  }

  remember(secret: Secret, ciphertext: string): void {
    this.#sealed.set(secret, ciphertext);
  }
}

function partsOf(saltText: string): { readonly salt: Buffer; readonly probe: string } {
  const [version, salt = "", ...probe] = saltText.split(":");
  if (version !== "v1" || probe.length !== 3) {
    throw new CommandError(
      "invalid encryptionsalt: it must be a salt of the passphrase secrets provider (v1:…)",
    );
  }
  return { salt: Buffer.from(salt, "base64"), probe: probe.join(":") };
}

function verifiedKey(key: Buffer, probe: string): Buffer {
  if (tryDecrypt(probe, key) !== PROBE) throw new CommandError("incorrect passphrase");
  return key;
}

function encrypt(plaintext: string, key: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const body = Buffer.concat([cipher.update(plaintext, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return `v1:${nonce.toString("base64")}:${body.toString("base64")}`;
}

function tryDecrypt(ciphertext: string, key: Buffer): string | undefined {
  const [version, nonce = "", body = ""] = ciphertext.split(":");
  const bytes = Buffer.from(body, "base64");
  if (version !== "v1" || bytes.length < TAG_BYTES) return undefined;
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(nonce, "base64"));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString("utf8");
  } catch {
    return undefined;
  }
}

/** Reads the passphrase from the environment. The local engine never prompts for it. */
export function readPassphrase(env: NodeJS.ProcessEnv): string {
  const phrase = env["PULUMI_CONFIG_PASSPHRASE"];
  if (phrase !== undefined) return phrase;
  throw new CommandError("passphrase must be set with the PULUMI_CONFIG_PASSPHRASE environment variable");
}
