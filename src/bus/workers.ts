import { randomUUID } from 'node:crypto';
import { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { Bus } from './connection.ts';
import { Channel, type Frame, isFirst, isReset, type Memory, readFrame, resetFrame } from './channel.ts';
import type { Duty } from './duties.ts';
import {
  encoded,
  largestReport,
  type Presence,
  protocol,
  readPresence,
  type ServerPresence,
  type Service,
} from './messages.ts';
import { isWorkerName, readChannelNumber, readSubject, subjects } from './subjects.ts';

/** Milliseconds between two signs of life. */
export const announceEvery = 2_000;
/** Milliseconds between two looks at who is there, and looks without a sign of life after which somebody is gone: a process that was paused itself sees nobody gone because of that. */
export const lookEvery = 1_000;
export const silentLooks = 7;
/** What the ids of channels begin with that workers open. */
export const questionsPrefix = 'ask-';
/** How long a worker that is gone stays in the list. */
const listedFor = 24 * 3_600_000;
/** Processes under one name that are kept count of, and names. */
const mostInstances = 8;
const mostWorkers = 10_000;
/** Milliseconds. */
const complainEvery = 60_000;
/** Refusals in that time of processes with one name. */
const mostRefusals = 5;
/** Bytes of half-received messages from one worker. */
const memoryPerWorker = 8 * largestReport;

/** A worker as lists show it. */
export interface WorkerEntry {
  readonly name: string;
  readonly version: string;
  readonly host: string;
  /** Milliseconds. */
  readonly since: number;
  readonly heard: number;
  readonly jobs: number;
  readonly nodes: number;
  readonly isConnected: boolean;
  /** What it does for its nodes besides jobs. */
  readonly serves: readonly Service[];
  /** Why it gets no work, or what else is wrong. */
  readonly problem: string | undefined;
}

/** A worker that takes jobs. */
export interface ConnectedWorker {
  readonly name: string;
  /** A channel for one job. It is closed when the worker is gone. */
  open(): Channel;
}

interface Instance {
  readonly id: string;
  presence: Presence;
  /** Milliseconds. */
  heard: number;
  /** Looks since then. */
  silent: number;
  readonly channels: Map<string, Channel>;
  readonly memory: Memory;
  /** The number of the last channel that the worker has opened. */
  asked: number;
}

interface Known {
  /** The process that gets the work; the first of the name, as long as it is there. */
  working: Instance | undefined;
  /** Others that announce themselves under the same name. */
  readonly others: Map<string, Instance>;
  last: Instance;
  /** When processes of the name were refused lately. */
  refusals: number[];
  /** When it last said that it serves something, by the clock of this process. */
  readonly served: Map<Service, number>;
}

/** What a worker is to serve now. */
export type DecideDuties = (worker: string) => readonly Duty[];

/** Takes the questions of a worker, which come by a channel that the worker has opened. */
export type TakeQuestions = (worker: string, channel: Channel) => void;

/** The workers that a server hears of. */
export class Workers {
  readonly id = randomUUID();
  readonly #bus: Bus;
  readonly #version: string;
  readonly log: Logger;
  /** Milliseconds without anything new after which a worker loses a job. */
  readonly jobTimeout: number;
  readonly #known = new Map<string, Known>();
  readonly #timer: NodeJS.Timeout;
  #takeQuestions: TakeQuestions | undefined;
  #decideDuties: DecideDuties | undefined;
  #complained: number | undefined;
  /** That were opened. Each has a number, so that workers know what is over. */
  #channels = 0;

  constructor(bus: Bus, version: string, log: Logger, jobTimeout: number) {
    this.#bus = bus;
    this.#version = version;
    this.log = log;
    this.jobTimeout = jobTimeout;
    bus.subscribe(subjects.allPresence, (subject, data) => this.#present(subject, data));
    bus.subscribe(subjects.allToServer(this.id), (subject, data) => this.#frame(subject, data));
    this.#timer = setInterval(() => this.#look(), lookEvery);
  }

  /** What is wrong with the bus itself. */
  get problem(): string | undefined {
    return this.#bus.problem;
  }

  /** The worker of that name, if it takes jobs now. */
  connected(name: string): ConnectedWorker | undefined {
    const instance = this.#known.get(name)?.working;
    if (!instance || this.#objection(name, instance) !== undefined) return undefined;
    return { name, open: () => this.#open(name, instance) };
  }

  /** Whoever answers workers that ask on their own account; without it they are refused. */
  answerBy(take: TakeQuestions): void {
    this.#takeQuestions = take;
  }

  /** Whoever decides what workers serve their nodes. Each hears of a change with its next sign of life. */
  dutiesBy(decide: DecideDuties): void {
    this.#decideDuties = decide;
  }

  /** Whether nodes can rely on the worker for that; one that is away counts as there for so many milliseconds. */
  isServing(name: string, service: Service, timeout: number): boolean {
    const known = this.#known.get(name);
    if (!known) return false;
    const { presence } = known.working ?? known.last;
    if (!this.#isOurs(presence)) return false;
    if (known.working && presence.state === 'ready' && presence.serves?.includes(service)) return true;
    return performance.now() - (known.served.get(service) ?? -Infinity) < timeout;
  }

  get isEmpty(): boolean {
    return this.#known.size === 0;
  }

  list(): WorkerEntry[] {
    return [...this.#known].map(([name, { working, others, last }]) => {
      const { presence, heard } = working ?? last;
      const { version, host, since, jobs, nodes, serves = [] } = presence;
      const problems = [
        working ? this.#objection(name, working) : absent(last),
        ...(working?.presence.problems ?? []),
        ...[...others.values()].map(({ presence: other }) => secondOf(name, other)),
      ].filter((each) => each !== undefined);
      const isConnected = working !== undefined;
      const problem = problems.length > 0 ? problems.join(' ') : undefined;
      return { name, version, host, since, heard, jobs, nodes, isConnected, serves, problem };
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const [name, { working }] of this.#known) if (working) this.#lose(name, working, 'muster is shutting down.');
    await this.#bus.close();
  }

  #present(subject: string, data: Uint8Array): void {
    const { worker: name, instance: id } = readSubject(subject);
    const presence = readPresence(data);
    if (!presence || !isWorkerName(name)) {
      this.#complain(`A message on ${subject.slice(0, 200)} says nothing that this version of muster understands.`);
      return;
    }
    const known = this.#known.get(name);
    if (!known && this.#known.size >= mostWorkers) return;
    const instance = known?.working?.id === id ? known.working : known?.others.get(id);
    if (instance) {
      instance.presence = presence;
      instance.heard = Date.now();
      instance.silent = 0;
    }
    if (presence.state === 'gone') this.#goodbye(name, known, id);
    else if (!instance) this.#appear(name, known, newInstance(id, presence));
    this.#noteServices(name, id);
    this.#sendDuties(name, id);
  }

  #noteServices(name: string, id: string): void {
    const known = this.#known.get(name);
    if (known?.working?.id !== id || known.working.presence.state !== 'ready') return;
    for (const service of known.working.presence.serves ?? []) known.served.set(service, performance.now());
  }

  /** Those that the worker does not have yet; one that was lost on the way is sent again. */
  #sendDuties(name: string, id: string): void {
    const working = this.#known.get(name)?.working;
    if (working?.id !== id || this.#objection(name, working) !== undefined) return;
    const { duties = {} } = working.presence;
    for (const duty of this.#decideDuties?.(name) ?? [])
      if (duties[duty.service] !== duty.version) this.#bus.publish(subjects.duty(name, id), encoded(duty));
  }

  /** Whoever sends nonsense does not fill the log with it. */
  #complain(sentence: string): void {
    if (this.#complained !== undefined && performance.now() - this.#complained < complainEvery) return;
    this.#complained = performance.now();
    this.log.warn(sentence);
  }

  #appear(name: string, known: Known | undefined, instance: Instance): void {
    if (!known)
      this.#known.set(name, { working: instance, others: new Map(), last: instance, refusals: [], served: new Map() });
    else if (!known.working) known.working = known.last = instance;
    else {
      if (known.others.size >= mostInstances) return;
      known.others.set(instance.id, instance);
      this.#refuse(name, instance, secondOf(name, instance.presence));
      return;
    }
    const { version, host } = instance.presence;
    this.log.info(`worker ${name} is there: muster ${version} on ${host}`);
    const objection = this.#objection(name, instance);
    if (objection !== undefined) this.#refuse(name, instance, objection);
  }

  /** Says why a process gets no work, of each name only now and then: anybody with its key can start processes. */
  #refuse(name: string, { id }: Instance, sentence: string): void {
    const known = this.#known.get(name)!;
    const lately = performance.now() - complainEvery;
    known.refusals = known.refusals.filter((at) => at > lately);
    if (known.refusals.length >= mostRefusals) return;
    known.refusals.push(performance.now());
    this.log.warn(sentence);
    this.#bus.publish(subjects.notice(name, id), encoded({ server: this.id, sentence }));
  }

  #goodbye(name: string, known: Known | undefined, id: string): void {
    if (known?.working?.id === id) this.#lose(name, known.working, `The worker ${name} has stopped.`);
    else known?.others.delete(id);
  }

  /** Announces this server, and gives up workers that say nothing. */
  #look(): void {
    const presence: ServerPresence = { protocol, version: this.#version, server: this.id };
    this.#bus.publish(subjects.servers, encoded(presence));
    for (const [name, known] of this.#known) {
      const { working, others, last } = known;
      if (working && ++working.silent > silentLooks)
        this.#lose(name, working, `Nothing was heard of the worker ${name} for ${silentLooks} s.`);
      for (const [id, other] of others) if (++other.silent > silentLooks) others.delete(id);
      if (!known.working && others.size === 0 && Date.now() - last.heard > listedFor) this.#known.delete(name);
    }
  }

  #lose(name: string, instance: Instance, sentence: string): void {
    const known = this.#known.get(name)!;
    this.log.warn(sentence);
    for (const channel of instance.channels.values()) channel.close(new Fault('unavailable', sentence));
    instance.channels.clear();
    known.last = instance;
    const [next] = known.others.values();
    known.working = undefined;
    if (!next) return;
    known.others.delete(next.id);
    this.#appear(name, known, next);
  }

  /** Why it gets no work. */
  #objection(name: string, { presence }: Instance): string | undefined {
    const { version, state } = presence;
    if (!this.#isOurs(presence))
      return `The worker ${name} runs muster ${version}, and this server runs ${this.#version}: it gets no work. Install ${this.#version} there.`;
    return state === 'stopping' ? `The worker ${name} is stopping and takes no new work.` : undefined;
  }

  #isOurs({ version, protocol: theirs }: Presence): boolean {
    return theirs === protocol && version === this.#version;
  }

  #open(name: string, instance: Instance, id: string = String(++this.#channels)): Channel {
    const subject = subjects.toWorker(name, instance.id, this.id, id);
    const channel = new Channel({
      transmit: (frame) => this.#bus.publish(subject, frame),
      largest: largestReport,
      memory: instance.memory,
      ended: () => instance.channels.delete(id),
    });
    if (this.#known.get(name)?.working === instance) instance.channels.set(id, channel);
    // It was lost meanwhile, and nobody would close the channel.
    else channel.close(new Fault('unavailable', `The worker ${name} is gone.`));
    return channel;
  }

  /** One channel at a time: what it begins with may be sent twice, and ids of channels that are over are its own. */
  #mayAsk(name: string, instance: Instance, id: string): boolean {
    if (!this.#takeQuestions || !id.startsWith(questionsPrefix)) return false;
    // What comes again begins nothing.
    const number = readChannelNumber(id.slice(questionsPrefix.length));
    if (number === undefined || number <= instance.asked) return false;
    if (this.#objection(name, instance) !== undefined) return false;
    instance.asked = number;
    for (const [other, channel] of instance.channels)
      if (other.startsWith(questionsPrefix))
        channel.end(new Fault('unavailable', 'The worker has opened another channel.'));
    return true;
  }

  #frame(subject: string, data: Uint8Array): void {
    const frame: Frame | undefined = readFrame(data);
    if (!frame) return;
    const { worker, instance, channel: id } = readSubject(subject);
    const working = this.#known.get(worker)?.working;
    const isKnown = working?.id === instance;
    const channel = isKnown ? working.channels.get(id) : undefined;
    if (channel) channel.receive(frame);
    else if (isKnown && isFirst(frame) && this.#mayAsk(worker, working, id)) {
      const asked = this.#open(worker, working, id);
      this.#takeQuestions!(worker, asked);
      asked.receive(frame);
    }
    // Nobody waits for it any more.
    else if (!isReset(frame)) this.#bus.publish(subjects.toWorker(worker, instance, this.id, id), resetFrame());
  }
}

function newInstance(id: string, presence: Presence): Instance {
  let held = 0;
  const memory: Memory = {
    take(bytes) {
      if (held + bytes > memoryPerWorker) return false;
      held += bytes;
      return true;
    },
    give: (bytes) => (held -= bytes),
  };
  return { id, presence, heard: Date.now(), silent: 0, channels: new Map(), memory, asked: 0 };
}

const absent = ({ presence: { state } }: Instance): string =>
  state === 'gone'
    ? 'It was stopped. Start it with muster worker, or with its systemd unit.'
    : 'Nothing is heard of it. Check whether it runs and reaches NATS, in its log.';

const secondOf = (name: string, { host }: Presence): string =>
  `A second worker with the name ${name} runs on ${host}: it gets no work. Stop it, or start it with another name.`;
