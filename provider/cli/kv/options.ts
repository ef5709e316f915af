/** Options of the commands, as the parser gives them. */

/** Of every command. */
export interface ProjectOptions {
  readonly env?: string;
  readonly accountId?: string;
  readonly config?: string;
  readonly preview?: boolean;
}

/** Of commands on one namespace. */
export interface SelectorOptions extends ProjectOptions {
  readonly binding?: string;
  readonly namespaceId?: string;
}

export interface RenameOptions extends SelectorOptions {
  readonly newName: string;
}

export interface DeleteNamespaceOptions extends SelectorOptions {
  readonly yes?: boolean;
}

/** Of commands on what a namespace holds. */
export interface DataOptions extends SelectorOptions {
  readonly local?: boolean;
  readonly persistTo?: string;
}

export interface PutOptions extends DataOptions {
  readonly path?: string;
  readonly ttl?: number;
  readonly expiration?: number;
  readonly metadata?: string;
}

export interface ListOptions extends DataOptions {
  readonly prefix?: string;
}

export interface GetOptions extends DataOptions {
  readonly text?: boolean;
}

export interface DeleteOptions extends DataOptions {
  readonly yes?: boolean;
}

export interface BulkPutOptions extends DataOptions {
  readonly dryRun?: boolean;
}
