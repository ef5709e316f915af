import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { applied, type Changes } from "../request";
import { Shelf, type ShelfOptions } from "../shelf";
import type { LogpushBehavior } from "./behavior";
import { usualFields } from "./datasets";
import { type Destination, nameInBucket, sinkFolder } from "./destination";
import {
  nothingStored,
  type Health,
  type Job,
  type LogpushSnapshot,
  type Scope,
  type Transformer,
} from "./entities";
import { logpushFailures } from "./failures";
import { type Fields, withChanges } from "./fields";
import { Sink, type SinkFile } from "./sink";

/** Logpush operations that only tests have. */
export interface LogpushControls {
  /** The directory that represents all destinations. */
  readonly folder: string;
  /** Returns the files in the directory, by path. */
  files(): SinkFile[];
  /** Returns the content of one of the files. */
  read(path: string): string;
  /** Changes how responses look from now on. Omitted settings stay as they are. */
  configure(changes: Changes<LogpushBehavior>): LogpushBehavior;
  /** Sets when a job last pushed or failed. Omitted properties stay as they are. */
  setHealth(jobId: number, health: Changes<Health>): void;
}

interface LogpushStoreOptions extends ShelfOptions {
  readonly behavior: LogpushBehavior;
}

const EVERYTHING = "jobs";

/** The jobs and transformers of all zones and accounts, and the directory that represents their destinations. */
export class LogpushStore implements LogpushControls {
  readonly #shelf: Shelf<LogpushSnapshot>;
  readonly #sink = new Sink();
  behavior: LogpushBehavior;

  /** The store is empty until a state is restored. */
  constructor(readonly options: LogpushStoreOptions) {
    this.#shelf = new Shelf(options);
    this.behavior = options.behavior;
    this.restore(nothingStored);
  }

  /** Returns a scope's jobs as reads see them, possibly with a lag. */
  visible(scope: Scope): readonly Job[] {
    return jobsOf(scope, this.#shelf.visible(EVERYTHING));
  }

  /** Returns a scope's jobs as lists show them, possibly with a lag. */
  listed(scope: Scope): readonly Job[] {
    return jobsOf(scope, this.#shelf.listed(EVERYTHING));
  }

  /** Returns a scope's current jobs, without any lag. */
  latest(scope: Scope): readonly Job[] {
    return jobsOf(scope, this.snapshot());
  }

  create(members: Omit<Job, "id">): Job {
    const { nextId, jobs } = this.snapshot();
    const job = { id: nextId, ...members };
    this.#write({ nextId: nextId + 1, jobs: [...jobs, job] });
    return job;
  }

  update(changed: Job): void {
    this.#change((jobs) => jobs.map((job) => (job.id === changed.id ? changed : job)));
  }

  remove(id: number): void {
    this.#change((jobs) => jobs.filter((job) => job.id !== id));
  }

  #change(change: (jobs: Job[]) => Job[]): void {
    this.#write({ jobs: change(this.snapshot().jobs) });
  }

  #write(changes: Partial<LogpushSnapshot>): void {
    this.#shelf.write(EVERYTHING, { ...this.snapshot(), ...changes });
  }

  /** Returns an account's transformers as reads or lists see them, or without any lag. */
  transformers(accountId: string, as: "visible" | "listed" | "latest" = "latest"): readonly Transformer[] {
    const { transformers } = this.#shelf[as](EVERYTHING);
    return transformers.filter((each) => each.accountId === accountId);
  }

  createTransformer(members: Omit<Transformer, "id">): Transformer {
    const { nextTransformerId: id, transformers } = this.snapshot();
    const created = { id, ...members };
    this.#write({ nextTransformerId: id + 1, transformers: [...transformers, created] });
    return created;
  }

  updateTransformer(changed: Transformer): void {
    const { transformers } = this.snapshot();
    this.#write({ transformers: transformers.map((each) => (each.id === changed.id ? changed : each)) });
  }

  removeTransformer(id: number): void {
    this.#write({ transformers: this.snapshot().transformers.filter((each) => each.id !== id) });
  }

  snapshot(): LogpushSnapshot {
    return this.#shelf.latest(EVERYTHING);
  }

  restore(snapshot: LogpushSnapshot): void {
    this.#shelf.reset([[EVERYTHING, snapshot]]);
  }

  /** Returns a dataset's fields with their types. Undefined if they're unknown. */
  fieldsOf(dataset: string): Fields | undefined {
    const usual = usualFields(dataset);
    const changes = this.behavior.fields[dataset];
    return changes === undefined ? usual : withChanges(usual ?? new Map(), changes);
  }

  isWritable(destination: string): boolean {
    return !this.behavior.unwritable.some((start) => destination.startsWith(start));
  }

  /** Writes a token to the destination. Returns the file's name there and its path on this machine. */
  writeChallenge(destination: Destination, token: string): { filename: string; path: string } {
    const folder = sinkFolder(destination, this.options.clock());
    const path = `${folder}/ownership-challenge-${randomBytes(4).toString("hex")}.txt`;
    this.#sink.write(path, token);
    return { filename: nameInBucket(path), path: join(this.#sink.folder, path) };
  }

  get folder(): string {
    return this.#sink.folder;
  }

  files(): SinkFile[] {
    return this.#sink.files();
  }

  read(path: string): string {
    const text = this.#sink.read(path);
    if (text === undefined) throw logpushFailures.sinkFileNotFound(path);
    return text;
  }

  configure(changes: Changes<LogpushBehavior>): LogpushBehavior {
    this.behavior = applied(this.behavior, changes);
    return this.behavior;
  }

  setHealth(jobId: number, health: Changes<Health>): void {
    const job = this.snapshot().jobs.find(({ id }) => id === jobId);
    if (job === undefined) throw logpushFailures.jobNotFound(jobId);
    this.update(applied<Job>(job, health));
  }

  close(): void {
    this.#sink.close();
  }
}

function jobsOf({ kind, id }: Scope, { jobs }: LogpushSnapshot): Job[] {
  return jobs.filter(({ scope }) => scope.kind === kind && scope.id === id);
}
