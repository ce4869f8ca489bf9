import {
  type BootAnswer,
  type BootClient,
  type BootQuestion,
  type BootSource,
  type Fetched,
  type Found,
  readBootAnswer,
  type Served,
  type Taken,
} from '../boot/index.ts';
import { type Channel, encoded, type WorkerEnd } from '../bus/index.ts';
import { Fault } from '../core/errors.ts';
import type { FileStore } from './file-store.ts';
import { Questions } from './questions.ts';

type Asked = Extract<BootQuestion, { readonly question: number }>;
type Unnumbered<T> = T extends { question: number } ? Omit<T, 'question'> : never;

/** A server that is asked. */
interface Asking {
  readonly channel: Channel;
  readonly questions: Questions<BootAnswer>;
}

/** Milliseconds for an answer. The hash of a large image takes a while the first time. */
const answerTimeout = 120_000;
/** Servers that are asked before a machine hears that there is none. */
const tries = 2;

/** What machines that boot from this worker get: a server says what that is, and files are fetched from it once. */
export class RemoteBoots implements BootSource {
  readonly #end: Pick<WorkerEnd, 'ask'>;
  readonly #files: FileStore;
  #asking: Asking | undefined;

  constructor(end: Pick<WorkerEnd, 'ask'>, files: FileStore) {
    this.#end = end;
    this.#files = files;
  }

  async find(segments: readonly string[], client: BootClient): Promise<Served | undefined> {
    const answer = await this.#ask({ is: 'find', segments: [...segments], client: who(client) });
    if (answer.is !== 'found') return undefined;
    const { found } = answer;
    // Only whoever has found it knows the number.
    const finder = this.#asking;
    return {
      found: await this.#content(found),
      fetched: ({ at, ...what }) =>
        tell(finder, { is: 'fetched', served: found.served, at: at.getTime(), ...known(what) }),
    };
  }

  async take(segments: readonly string[], body: string, client: BootClient): Promise<Taken | undefined> {
    const answer = await this.#ask({ is: 'take', segments: [...segments], body, client: who(client) });
    return answer.is === 'taken' ? { text: answer.text } : undefined;
  }

  async #content(found: Extract<BootAnswer, { is: 'found' }>['found']): Promise<Found> {
    const { step } = found;
    if ('text' in found) return { kind: 'text', text: found.text, step };
    if ('bytes' in found) return { kind: 'bytes', bytes: Buffer.from(found.bytes, 'base64'), step };
    const { hash, size } = found;
    const path = await this.#files.hold(hash, size, (piece) => this.#piece(hash, piece), false);
    return { kind: 'file', path, step };
  }

  async #piece(hash: string, piece: number): Promise<Buffer> {
    const answer = await this.#ask({ is: 'piece', hash, piece });
    if (answer.is !== 'piece') throw new Fault('unavailable', 'The server has the file no longer; try again.');
    return Buffer.from(answer.bytes, 'base64');
  }

  /** A server that goes away is followed by the next: nothing that is asked here does harm twice. */
  async #ask(asked: Unnumbered<Asked>): Promise<BootAnswer> {
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await this.#askOnce(asked);
        if (answer.is === 'fault') throw new Fault(answer.fault.kind, answer.fault.sentences);
        return answer;
      } catch (error) {
        if (!(error instanceof Fault) || error.kind !== 'unavailable' || attempt === tries) throw error;
      }
    }
  }

  #askOnce(asked: Unnumbered<Asked>): Promise<BootAnswer> {
    const { channel, questions } = this.#opened();
    return questions.ask((question) => channel.send(encoded({ ...asked, question })));
  }

  #opened(): Asking {
    if (this.#asking && !this.#asking.channel.closed) return this.#asking;
    const channel = this.#end.ask();
    if (!channel) throw new Fault('unavailable', 'No server of muster is connected to this service node.');
    this.#asking = { channel, questions: new Questions(answerTimeout) };
    void listen(this.#asking);
    return this.#asking;
  }
}

function tell(asking: Asking | undefined, message: BootQuestion): void {
  // What became of a file is worth no second server.
  asking?.channel.send(encoded(message)).catch(() => undefined);
}

async function listen({ channel, questions }: Asking): Promise<void> {
  for await (const message of channel) {
    const answer = readBootAnswer(message);
    if (answer) questions.answered(answer.question, answer);
  }
  questions.fail(channel.closed!);
}

const who = ({ address, server, httpPort, protocol }: BootClient) => ({ address, server, httpPort, protocol });

/** Without members that are not known, as messages have none. */
const known = ({ source, bytes, complete }: Omit<Fetched, 'at'>) => ({
  source: source === 'tftp' ? ('tftp' as const) : ('http' as const),
  ...(bytes !== undefined && { bytes }),
  ...(complete !== undefined && { complete }),
});
