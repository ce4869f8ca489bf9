import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { type SchemaCheck, schemaCheck } from '../core/schema-check.ts';
import { kind } from '../core/settings.ts';
import { type Questions, Unanswered } from '../database/questions.ts';
import type { KnownServer, Servers } from '../database/servers.ts';
import type { Store } from '../database/store.ts';

export const ServerName = kind(
  'the name of a server as "muster servers" shows it',
  Type.String({ pattern: /^[A-Za-z0-9]([\w.-]{0,252})$/ }),
);

/** What one server has for all: the hosts file and DNS, which is made of it; DHCP. */
export const daemonKinds = ['names', 'dhcp'] as const;
export type DaemonKind = (typeof daemonKinds)[number];

const words: Readonly<Record<DaemonKind, { readonly what: string; readonly setting: string }>> = {
  names: { what: 'the hosts file and DNS', setting: 'names.server' },
  dhcp: { what: 'DHCP', setting: 'dhcp.server' },
};

const revisionTimeout = 5_000;

const orderSchema = Type.Object({
  /** What the server must know of before it does anything. */
  revision: Type.Integer({ minimum: 0 }),
  order: Type.Unknown(),
});
const checkOrder = schemaCheck(orderSchema);

const doneSchema = Type.Object({
  /** What the server had stored by then: whoever asked for it sees that too. */
  revision: Type.Integer({ minimum: 0 }),
  answer: Type.Unknown(),
});
const checkDone = schemaCheck(doneSchema);

/** Something that servers ask the one with a daemon to do. Both sides check what they get: the other may be of another version. */
export interface DaemonTopic<Order, Answer> {
  readonly name: string;
  readonly order: SchemaCheck<Order>;
  readonly answer: SchemaCheck<Answer>;
}

export const daemonTopic = <O extends Type.TSchema, A extends Type.TSchema>(
  name: string,
  order: O,
  answer: A,
): DaemonTopic<Type.Static<O>, Type.Static<A>> => ({ name, order: schemaCheck(order), answer: schemaCheck(answer) });

interface Parts {
  readonly store: Store;
  readonly servers: Pick<Servers, 'name' | 'list'>;
  readonly questions: Questions;
}

interface Asking {
  readonly revision: number;
  /** How to see whether it was done. */
  readonly look?: string | undefined;
  readonly signal?: AbortSignal;
  /** It is a part of what a user wants, so that whoever asks says what became of the whole. */
  readonly isPart?: boolean | undefined;
}

/** It may have been carried out. */
export class Unconfirmed extends Fault {}

/** Which server has which daemon, and the way to it: it carries out what other servers are asked for. */
export class DaemonServers {
  readonly #named: Readonly<Record<DaemonKind, string | undefined>>;
  readonly #parts: Parts;

  constructor(named: Readonly<Record<DaemonKind, string | undefined>>, parts: Parts) {
    this.#named = named;
    this.#parts = parts;
  }

  isHere(daemon: DaemonKind): boolean {
    const name = this.#named[daemon];
    return name === undefined || isCalled(this.#parts.servers.name, name);
  }

  /** Has the server with the daemon do something, when it knows the revision. */
  async ask<Answer>(
    daemon: DaemonKind,
    topic: DaemonTopic<unknown, Answer>,
    order: unknown,
    asking: Asking,
  ): Promise<Answer> {
    const { revision, signal } = asking;
    const server = await this.#serverWith(daemon, asking);
    const { questions, store } = this.#parts;
    const done = await questions.ask(server.id, topic.name, { revision, order }, signal).catch((error: unknown) => {
      throw error instanceof Unanswered ? unanswered(server, daemon, error, asking) : error;
    });
    if (!checkDone.is(done)) throw notUnderstood(server, daemon, asking);
    const { revision: reached, answer } = done;
    if (!topic.answer.is(answer)) throw notUnderstood(server, daemon, asking);
    await store.reach(reached, AbortSignal.timeout(revisionTimeout));
    return answer;
  }

  /** How this server does it for others. */
  answer<Order>(
    daemon: DaemonKind,
    topic: DaemonTopic<Order, unknown>,
    answerer: (order: Order) => Promise<unknown>,
  ): void {
    this.#parts.questions.answer(topic.name, async (body) => {
      if (!checkOrder.is(body)) throw differentVersions();
      const { order } = body;
      if (!topic.order.is(order)) throw differentVersions();
      this.#checkHere(daemon);
      const { store } = this.#parts;
      const newest = await store.reach(body.revision, AbortSignal.timeout(revisionTimeout));
      if (newest < body.revision)
        throw new Fault(
          'unavailable',
          `Server ${this.#parts.servers.name}, which has ${words[daemon].what}, does not know revision ${body.revision} yet. Try again.`,
          nothingDone,
        );
      const answer = (await answerer(order)) ?? null;
      return { revision: store.current.revision, answer };
    });
  }

  async #serverWith(daemon: DaemonKind, { isPart }: Asking): Promise<KnownServer> {
    const name = this.#named[daemon]!;
    const found = (await this.#parts.servers.list()).find((server) => isCalled(server.name, name));
    if (found) return found;
    const { what, setting } = words[daemon];
    throw new Fault(
      'unavailable',
      `Server ${name}, which has ${what} (setting ${setting}), is not connected${isPart ? '' : ', and nothing was done'}. GET /servers lists the servers that are.`,
      nothingDone,
    );
  }

  /** Otherwise servers that name each other would go on asking. */
  #checkHere(daemon: DaemonKind): void {
    if (this.isHere(daemon)) return;
    const { what, setting } = words[daemon];
    throw new Fault(
      'unavailable',
      `Server ${this.#parts.servers.name} was asked because it has ${what}, but its own setting ${setting} names ${this.#named[daemon]}, so it refuses. Give all servers the same setting.`,
      nothingDone,
    );
  }
}

const nothingDone = { retryAfter: 5, nothingDone: true } as const;

/** What another server asks for is not known here. */
export const differentVersions = (): Fault =>
  new Fault(
    'unavailable',
    'The servers are of different versions. Upgrade all of them, then send the request again.',
    nothingDone,
  );

/** By its whole name, or by the part before the domain. */
function isCalled(server: string, name: string): boolean {
  const [own, asked] = [server.toLowerCase(), name.toLowerCase()];
  return own === asked || own.split('.', 1)[0] === asked || own === asked.split('.', 1)[0];
}

function unanswered({ name }: KnownServer, daemon: DaemonKind, error: Unanswered, { look, isPart }: Asking): Fault {
  const { what } = words[daemon];
  const sentence = `Server ${name}, which has ${what}, gave no answer: ${error.message}.`;
  const connected = 'GET /servers lists the servers that are connected.';
  if (error.nothingDone)
    return new Fault('unavailable', [sentence, ...(isPart ? [] : ['Nothing was done.']), connected], nothingDone);
  if (look === undefined) return new Fault('unavailable', [sentence, connected]);
  return new Unconfirmed('unavailable', [sentence, ...doubt({ look, isPart }), connected]);
}

function notUnderstood({ name }: KnownServer, daemon: DaemonKind, asking: Asking): Fault {
  const sentence = `Server ${name}, which has ${words[daemon].what}, is of another version, and this server cannot read its answer.`;
  const FaultKind = asking.look === undefined ? Fault : Unconfirmed;
  return new FaultKind('unavailable', [sentence, ...doubt(asking), 'Upgrade all servers.']);
}

/** For what may have been done; of a part whoever asked says what that means. */
const doubt = ({ look, isPart }: Pick<Asking, 'look' | 'isPart'>): readonly string[] =>
  look === undefined ? [] : [...(isPart ? [] : ['The request may have been carried out.']), look];
