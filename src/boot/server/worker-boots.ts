import { isIP } from 'node:net';
import { type Channel, encoded } from '../../bus/index.ts';
import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import { openReal } from '../../core/open-real.ts';
import { bootClient, type BootClient, type Found } from '../routes/route.ts';
import { type BootAnswer, type BootQuestion, pieceSize, readBootQuestion } from './boot-questions.ts';
import type { BootSource, Served } from './catalog.ts';
import { FileHashes } from './file-hashes.ts';

/** What decides what a worker gets. */
export interface WorkerBootRules {
  readonly source: BootSource;
  readonly log: Logger;
  /** Why the worker serves no machines that boot; undefined: it may. */
  objection(worker: string): string | undefined;
  /** Whether it is one of the node's service nodes. */
  serves(worker: string, node: string): boolean;
  /** The node that has the address. */
  nodeAt(address: string): string | undefined;
}

/** Questions of one worker that are answered at a time, and what it was given that more may be said or asked of. */
const mostAtOnce = 64;
const mostServed = 4_096;
const mostFiles = 4_096;

type Asked = Extract<BootQuestion, { readonly question: number }>;

/** Answers workers that serve machines which boot: each gets what is for its own nodes, or for machines that no node is known of. */
export class WorkerBoots {
  readonly #rules: WorkerBootRules;
  readonly #hashes = new FileHashes();

  constructor(rules: WorkerBootRules) {
    this.#rules = rules;
  }

  /** Until the channel is closed. */
  async answer(worker: string, channel: Channel): Promise<void> {
    const { log } = this.#rules;
    const visit = new Visit(worker, this.#rules, this.#hashes);
    const underWay = new Set<Promise<void>>();
    for await (const message of channel) {
      const question = readBootQuestion(message);
      if (!question) {
        log.error(`The worker ${worker} asked something that is no question about a boot; it was cut off.`);
        channel.end(new Fault('invalid', 'That is no question about a boot.'));
        return;
      }
      if (question.is === 'fetched') {
        visit.note(question);
        continue;
      }
      const answering = visit
        .answer(question)
        .then((answer) => channel.send(encoded(answer)))
        .catch(() => undefined)
        .finally(() => underWay.delete(answering));
      underWay.add(answering);
      if (underWay.size >= mostAtOnce) await Promise.race(underWay);
    }
  }
}

/** One worker for as long as its channel is open. */
class Visit {
  readonly #worker: string;
  readonly #rules: WorkerBootRules;
  readonly #hashes: FileHashes;
  readonly #served = new Map<number, { readonly served: Served; readonly since: number }>();
  /** Where the files are that it may fetch. */
  readonly #paths = new Map<string, string>();
  #last = 0;

  constructor(worker: string, rules: WorkerBootRules, hashes: FileHashes) {
    this.#worker = worker;
    this.#rules = rules;
    this.#hashes = hashes;
  }

  async answer(asked: Asked): Promise<BootAnswer> {
    const { question } = asked;
    try {
      return { question, ...(await this.#answer(asked)) };
    } catch (error) {
      if (error instanceof Fault)
        return { is: 'fault', question, fault: { kind: error.kind, sentences: [...error.sentences] } };
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR' || code === 'ELOOP')
        return { is: 'nothing', question };
      this.#rules.log.error({ err: error }, 'a boot file for a worker could not be read');
      return { is: 'fault', question, fault: { kind: 'unavailable', sentences: ['The file cannot be read.'] } };
    }
  }

  /** What became of something that it was given. */
  note({ served, at, source, bytes, complete }: Extract<BootQuestion, { is: 'fetched' }>): void {
    const given = this.#served.get(served);
    this.#served.delete(served);
    // Its clock may be wrong.
    const time = Math.min(Math.max(at, given?.since ?? 0), Date.now());
    given?.served.fetched({ at: new Date(time), source, bytes, complete });
  }

  async #answer(asked: Asked) {
    if (asked.is === 'piece') return { is: 'piece', bytes: await this.#piece(asked.hash, asked.piece) } as const;
    const client = this.#admitted(asked.client);
    if (asked.is === 'take') {
      const taken = await this.#rules.source.take(asked.segments, asked.body, client);
      return taken ? ({ is: 'taken', text: taken.text } as const) : ({ is: 'nothing' } as const);
    }
    const served = await this.#rules.source.find(asked.segments, client);
    if (!served) return { is: 'nothing' } as const;
    for (const node of [served.found.node, served.found.foreignNode]) if (node !== undefined) this.#checkServes(node);
    return { is: 'found', found: { ...this.#numbered(served), ...(await this.#content(served.found)) } } as const;
  }

  #admitted({
    address,
    server,
    httpPort,
    protocol,
  }: Pick<BootClient, 'address' | 'server' | 'httpPort' | 'protocol'>): BootClient {
    const objection = this.#rules.objection(this.#worker);
    if (objection !== undefined) throw new Fault('denied', objection);
    if (isIP(address) === 0 || isIP(server) === 0) throw new Fault('denied', 'The machine that asks has no address.');
    const client = bootClient(address, server, httpPort, protocol);
    const node = this.#rules.nodeAt(client.address);
    if (node !== undefined) this.#checkServes(node);
    return client;
  }

  #checkServes(node: string): void {
    if (!this.#rules.serves(this.#worker, node))
      throw new Fault('denied', `This service node, ${this.#worker}, is not among those of the node that asks.`);
  }

  #numbered(served: Served): { readonly served: number; readonly step: Found['step'] } {
    const number = ++this.#last;
    this.#served.set(number, { served, since: Date.now() });
    if (this.#served.size > mostServed) this.#served.delete(this.#served.keys().next().value!);
    return { served: number, step: served.found.step };
  }

  async #content(found: Found) {
    if (found.kind === 'text') return { text: found.text };
    if (found.kind === 'bytes') return { bytes: found.bytes.toString('base64') };
    // What a BMC fetches has an address of this server.
    if (found.kind === 'pieces') throw new Fault('unknown-path', 'There is nothing at this path.');
    const { hash, size } = await this.#hashes.of(found.path);
    this.#paths.delete(hash);
    this.#paths.set(hash, found.path);
    if (this.#paths.size > mostFiles) this.#paths.delete(this.#paths.keys().next().value!);
    return { hash, size };
  }

  async #piece(hash: string, index: number): Promise<string> {
    const path = this.#paths.get(hash);
    if (path === undefined) throw new Fault('denied', 'The worker asked for a file that it was not given.');
    const file = await openReal(path);
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(pieceSize), 0, pieceSize, index * pieceSize);
      return buffer.toString('base64', 0, bytesRead);
    } finally {
      await file.close();
    }
  }
}
