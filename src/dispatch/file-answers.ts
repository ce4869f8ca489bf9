import { Type } from 'typebox';
import type { SentFiles } from '../commands/per-node.ts';
import { Fault, type FaultData } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { schemaCheck } from '../core/schema-check.ts';
import type { CargoItem, LocalFiles } from '../nodes/index.ts';

const Path = Type.String({ maxLength: 8_192 });

/** What a worker asks about the files of its job: what there is, and then the content of files by their hashes. */
const questionSchema = Type.Union([
  Type.Object({ roots: Type.Array(Type.Object({ path: Path, real: Path }), { maxItems: 10_000 }) }),
  Type.Object({ received: Path }),
  Type.Object({ hash: Type.String({ pattern: '^[0-9a-f]{64}$' }), piece: Type.Integer({ minimum: 0 }) }),
]);
export type FileQuestion = Type.Static<typeof questionSchema>;
const question = schemaCheck(questionSchema);

/** An item as it travels: names are bytes, in base64. */
export interface ListedItem extends Omit<CargoItem, 'from' | 'name' | 'destination'> {
  readonly name: string;
  readonly destination?: string;
  /** Of a file, its SHA-256. */
  readonly hash?: string;
}

const hashesAtOnce = 8;

/** Gives a worker the files of its job, and no others. */
export class FileAnswers {
  readonly #files: LocalFiles;
  readonly #roots: ReadonlySet<string>;
  readonly #received: string | undefined;
  /** Where the files are that the worker has in its list. */
  readonly #paths = new Map<string, Buffer>();

  constructor(files: LocalFiles, { roots, received }: SentFiles = { roots: [] }) {
    this.#files = files;
    this.#roots = new Set(roots.map(({ path, real }) => JSON.stringify([path, real])));
    this.#received = received;
  }

  async answer(asked: unknown): Promise<unknown> {
    if (!question.is(asked)) throw notOfTheJob();
    if ('hash' in asked) return this.#piece(asked.hash, asked.piece);
    if ('received' in asked) {
      if (this.#received === undefined || asked.received !== this.#received) throw notOfTheJob();
      return this.#listed((await this.#files.received(asked.received)).items);
    }
    if (!asked.roots.every(({ path, real }) => this.#roots.has(JSON.stringify([path, real])))) throw notOfTheJob();
    return this.#listed((await this.#files.cargo(asked.roots)).items);
  }

  /** What the worker hears of a failure. */
  faultOf(error: unknown, log: Logger): FaultData {
    if (error instanceof Fault) return { kind: error.kind, sentences: [...error.sentences] };
    log.error({ err: error }, 'files for a worker could not be read');
    return { kind: 'unavailable', sentences: ['the files could not be read on the server; its log says why.'] };
  }

  async #listed(items: readonly CargoItem[]): Promise<ListedItem[]> {
    const listed: ListedItem[] = [];
    for (let at = 0; at < items.length; at += hashesAtOnce)
      listed.push(...(await Promise.all(items.slice(at, at + hashesAtOnce).map((item) => this.#listedItem(item)))));
    return listed;
  }

  async #listedItem({ from, name, destination, ...item }: CargoItem): Promise<ListedItem> {
    const hash = item.kind === 'file' ? await this.#files.hash(from) : undefined;
    if (hash !== undefined) this.#paths.set(hash, from);
    return {
      ...item,
      name: name.toString('base64'),
      ...(destination === undefined ? {} : { destination: destination.toString('base64') }),
      ...(hash === undefined ? {} : { hash }),
    };
  }

  async #piece(hash: string, index: number): Promise<string> {
    const path = this.#paths.get(hash);
    if (path === undefined) throw notOfTheJob();
    return this.#files.use(path, async (source) =>
      index < source.pieces ? (await source.piece(index)).toString('base64') : '',
    );
  }
}

const notOfTheJob = (): Fault => new Fault('denied', 'the worker asked for a file that its job does not name.');
