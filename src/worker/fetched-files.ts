import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { schemaCheck } from '../core/schema-check.ts';
import type { FileQuestion, ListedItem } from '../dispatch/file-answers.ts';
import type { Cargo, CargoItem, CargoRoot, CargoSource } from '../nodes/index.ts';
import type { FileStore } from './file-store.ts';

const Whole = Type.Integer({ minimum: 0 });
const listSchema = Type.Array(
  Type.Object({
    kind: Type.Enum(['file', 'directory', 'link']),
    name: Type.String(),
    mode: Whole,
    accessed: Type.Integer(),
    modified: Type.Integer(),
    destination: Type.Optional(Type.String()),
    size: Whole,
    uid: Whole,
    gid: Whole,
    hash: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
  }),
  { maxItems: 200_000 },
);
const list = schemaCheck(listSchema);

/** Files that are fetched at the same time. */
const filesAtOnce = 4;

/** The files that a job sends to its nodes, as the server has them; their contents are fetched into the worker's store first. */
export class FetchedFiles implements CargoSource {
  readonly #store: FileStore;
  readonly #ask: (asked: FileQuestion) => Promise<unknown>;
  /** Hashes of what the job uses. */
  readonly #used = new Set<string>();

  constructor(store: FileStore, ask: (asked: FileQuestion) => Promise<unknown>) {
    this.#store = store;
    this.#ask = ask;
  }

  load(roots: readonly CargoRoot[]): Promise<Cargo> {
    return this.#cargo({ roots: roots.map(({ path, real }) => ({ path, real })) });
  }

  received(directory: string): Promise<Cargo> {
    return this.#cargo({ received: directory });
  }

  close(): void {
    for (const hash of this.#used) this.#store.release(hash);
    this.#used.clear();
  }

  async #cargo(asked: FileQuestion): Promise<Cargo> {
    const listed = await this.#ask(asked);
    if (!list.is(listed))
      throw new Fault('unavailable', 'the server sent no list of files that this worker understands.');
    const items: CargoItem[] = [];
    let size = 0;
    for (let at = 0; at < listed.length; at += filesAtOnce)
      items.push(
        ...(await Promise.all(listed.slice(at, at + filesAtOnce).map((item) => this.#item(item as ListedItem)))),
      );
    for (const item of items) if (item.kind === 'file') size += item.size;
    return { items, size };
  }

  async #item({ hash, name, destination, ...item }: ListedItem): Promise<CargoItem> {
    const from = item.kind === 'file' ? await this.#path(hash!, item.size) : '';
    return {
      ...item,
      from: Buffer.from(from),
      name: Buffer.from(name, 'base64'),
      destination: destination === undefined ? undefined : Buffer.from(destination, 'base64'),
    };
  }

  async #path(hash: string, size: number): Promise<string> {
    // Two files of a job may have the same content.
    const isNew = !this.#used.has(hash);
    this.#used.add(hash);
    const piece = async (index: number): Promise<Buffer> =>
      Buffer.from(String(await this.#ask({ hash, piece: index })), 'base64');
    return this.#store.hold(hash, size, piece, isNew);
  }
}
