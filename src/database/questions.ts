import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import {
  openedAnswer,
  openedQuestion,
  type Question,
  type QuestionSeal,
  sealedAnswer,
  sealedFault,
  sealedQuestion,
} from './question-messages.ts';
import type { Servers } from './servers.ts';
import type { SharedRecords } from './shared-records.ts';

const questionKind = 'question';
const answerKind = 'answer';
/** Whoever claims it first decides: the server that was asked, that it answers; the one that asks, that it has given up. */
const turnKind = 'question-turn';

/** Milliseconds that records stay if nobody removes them. */
const questionKept = 60_000;
const answerKept = 600_000;
const turnKept = 86_400_000;
/** Milliseconds before one tries again to write an answer. */
const retryDelay = 1_000;
/** Milliseconds that a server which stops waits for the end of what it was asked for. */
const closeTimeout = 30_000;
/** Questions that are answered at a time; others wait. */
const mostAtOnce = 64;

/** Milliseconds. */
export interface QuestionTimes {
  /** Between two looks for an answer that was not announced. */
  readonly look: number;
  /** A question that was not taken up by then is given up. */
  readonly take: number;
  /** How long the database may be away while somebody waits for an answer. */
  readonly away: number;
}

const usualTimes: QuestionTimes = { look: 2_000, take: 15_000, away: 30_000 };

/** There is no answer, and there will be none. */
export class Unanswered extends Error {
  /** What was asked for was not begun and never will be. */
  readonly nothingDone: boolean;

  constructor(message: string, nothingDone: boolean) {
    super(message);
    this.nothingDone = nothingDone;
  }
}

type Answerer = (body: unknown) => Promise<unknown>;

interface Parts {
  readonly shared: SharedRecords;
  readonly servers: Pick<Servers, 'id' | 'isAlive'>;
  readonly seal: QuestionSeal;
  readonly log: Logger;
}

/**
 * What a server of a database asks another one of it to do. Question and answer are shared records, sealed with the key that servers have in
 * common; announcements only wake the other side. A question is taken up once, or given up before: both claim the same record.
 */
export class Questions {
  readonly #parts: Parts;
  readonly #times: QuestionTimes;
  readonly #answerers = new Map<string, Answerer>();
  /** Those who wait for an answer here. */
  readonly #waiting = new Map<string, () => void>();
  /** What is answered here. */
  readonly #underWay = new Map<string, Promise<void>>();
  /** Who asked what was taken up here, for as long as the question may be on record: whoever asks may call once more. */
  readonly #askers = new Map<string, string>();
  /** Of what was asked, which nobody waits for. */
  #removals: Promise<unknown> = Promise.resolve();
  readonly #stopHearing: () => void;
  readonly #closing = new AbortController();

  constructor(parts: Parts, times: QuestionTimes = usualTimes) {
    this.#parts = parts;
    this.#times = times;
    this.#stopHearing = parts.shared.hear(({ kind, name }) => {
      const [to, id = ''] = name.split(' ');
      if (to !== parts.servers.id) return;
      if (kind === answerKind) this.#waiting.get(id)?.();
      if (kind === questionKind) this.#takeUp(id);
    });
  }

  /** How questions of a topic are answered here. */
  answer(topic: string, answerer: Answerer): void {
    this.#answerers.set(topic, answerer);
  }

  /** Takes no more questions, waits for the answers to those that it has, and for none of others. */
  async close(): Promise<void> {
    this.#stopHearing();
    this.#closing.abort();
    for (const wake of this.#waiting.values()) wake();
    const ended = Promise.all([...this.#underWay.values(), this.#removals]);
    await Promise.race([ended, pause(closeTimeout, undefined, { ref: false })]);
  }

  /** Throws `Unanswered` if no answer comes, or what the other server throws if that is a Fault. Whoever aborts does not wait for it. */
  async ask(to: string, topic: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
    const { shared, servers, seal } = this.#parts;
    const id = randomBytes(12).toString('hex');
    const sealed = sealedQuestion(seal, id, { asker: servers.id, topic, body });
    await shared.put([{ kind: questionKind, name: id, holder: to, body: sealed }], questionKept);
    // The turn of one that was given up stays: the other server may be about to take it.
    const done = [questionKind, answerKind];
    try {
      const answer = await this.#answerTo(id, to, signal);
      done.push(turnKind);
      return openedAnswer(seal, id, answer);
    } finally {
      this.#waiting.delete(id);
      this.#forget(id, done);
    }
  }

  async #answerTo(id: string, to: string, signal: AbortSignal | undefined): Promise<string> {
    const { take, away } = this.#times;
    const asked = performance.now();
    let reached = asked;
    let isTaken = false;
    let isGone = false;
    for (;;) {
      const woken = this.#nextLook(id, signal);
      if (!isTaken) this.#announce(questionKind, to, id);
      await woken;
      if (this.#closing.signal.aborted) throw new Unanswered('this server was stopped meanwhile', false);
      try {
        const answer = await this.#parts.shared.get(answerKind, id);
        if (answer) return answer.body;
        // By then it would have been seen: what a server has answered before it went is there.
        if (isGone) throw new Unanswered('it stopped before it answered', false);
        isGone = !(await this.#parts.servers.isAlive(to));
        if (!isTaken && (isGone || signal?.aborted || performance.now() - asked > take)) {
          if (await this.#claimTurn(id)) {
            signal?.throwIfAborted();
            throw new Unanswered(isGone ? 'it is not connected' : 'it did not take the request in time', true);
          }
          isTaken = true;
        }
        reached = performance.now();
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        if (performance.now() - reached > away) throw new Unanswered(error.sentences[0]!.replace(/\.$/, ''), false);
      }
      signal?.throwIfAborted();
    }
  }

  #nextLook(id: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', look);
        resolve();
      };
      const timer = setTimeout(look, this.#times.look);
      signal?.addEventListener('abort', look, { once: true });
      this.#waiting.set(id, look);
    });
  }

  #claimTurn(id: string): Promise<boolean> {
    const { shared, servers } = this.#parts;
    return shared.claim({ kind: turnKind, name: id, holder: servers.id, body: '' }, turnKept);
  }

  #announce(kind: string, to: string, id: string): void {
    const { shared, servers, log } = this.#parts;
    shared
      .announce({ kind, name: `${to} ${id}`, holder: servers.id })
      .catch((error: unknown) => log.debug({ err: error }, 'another server could not be called'));
  }

  #forget(id: string, kinds: readonly string[]): void {
    const { shared, log } = this.#parts;
    const removal = Promise.all(kinds.map((kind) => shared.remove(kind, [id]))).catch((error: unknown) =>
      log.debug({ err: error }, 'a question to another server stays in the database until it expires'),
    );
    this.#removals = Promise.all([this.#removals, removal]);
  }

  #takeUp(id: string): void {
    // Whoever asks calls again.
    if (this.#underWay.has(id) || this.#underWay.size >= mostAtOnce || this.#closing.signal.aborted) return;
    const asker = this.#askers.get(id);
    if (asker !== undefined) return this.#announce(answerKind, asker, id);
    const work = this.#answerQuestion(id)
      .catch((error: unknown) => this.#parts.log.error({ err: error }, 'a question of another server was not answered'))
      .finally(() => this.#underWay.delete(id));
    this.#underWay.set(id, work);
  }

  async #answerQuestion(id: string): Promise<void> {
    const { shared, servers, seal } = this.#parts;
    const record = await shared.get(questionKind, id);
    if (record?.holder !== servers.id) return;
    const question = openedQuestion(seal, id, record.body);
    if (!question) {
      this.#parts.log.warn('A server of another version asked this one for something. Upgrade all servers.');
      return;
    }
    if (!(await this.#claimTurn(id))) return;
    this.#askers.set(id, question.asker);
    setTimeout(() => this.#askers.delete(id), questionKept).unref();
    await this.#deliver(id, question.asker, await this.#madeAnswer(id, question));
  }

  async #madeAnswer(id: string, { topic, body }: Question): Promise<string> {
    const { seal, log } = this.#parts;
    try {
      const answerer = this.#answerers.get(topic);
      if (!answerer)
        throw new Fault('unavailable', `It does not know how to answer "${topic}".`, { nothingDone: true });
      return sealedAnswer(seal, id, await answerer(body));
    } catch (error) {
      if (error instanceof Fault) return sealedFault(seal, id, error);
      log.error({ err: error }, `a question of another server about ${topic} failed`);
      return sealedFault(seal, id, new Fault('unavailable', 'It failed there; the log of that server has the reason.'));
    }
  }

  /** Somebody waits for it, so it is tried again while the database is away. */
  async #deliver(id: string, asker: string, body: string): Promise<void> {
    const { shared, servers, log } = this.#parts;
    for (;;) {
      try {
        await shared.put([{ kind: answerKind, name: id, holder: asker, body }], answerKept);
        return this.#announce(answerKind, asker, id);
      } catch (error) {
        if (this.#closing.signal.aborted) throw error;
        log.debug({ err: error, server: servers.id }, 'an answer to another server could not be written yet');
        await pause(retryDelay);
      }
    }
  }
}
