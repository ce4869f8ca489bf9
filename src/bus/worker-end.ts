import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { Channel, isFirst, isReset, readFrame, resetFrame } from './channel.ts';
import type { Bus } from './connection.ts';
import { type Duty, readDuty } from './duties.ts';
import { encoded, largestJob, type Presence, protocol, readNotice, readServerPresence } from './messages.ts';
import { EndedChannels } from './ended-channels.ts';
import { readChannelNumber, readSubject, subjects } from './subjects.ts';
import { announceEvery, lookEvery, questionsPrefix, silentLooks } from './workers.ts';

/** Servers that are known at a time. */
const mostServers = 256;

interface Server {
  silent: number;
  readonly channels: Map<string, Channel>;
}

interface WorkerOptions {
  readonly name: string;
  readonly version: string;
  readonly log: Logger;
  /** How much is under way. */
  load(): Pick<Presence, 'jobs' | 'nodes'>;
  /** What it serves its nodes, and what it should and cannot. */
  services(): Pick<Presence, 'serves' | 'problems' | 'duties'>;
  /** Takes what it is to serve from now on. */
  takeDuty(duty: Duty): void;
  /** Takes a job by its channel. */
  take(channel: Channel): Promise<void>;
}

/** A worker's end of the bus: it announces itself, and takes jobs as long as their servers are there. */
export class WorkerEnd {
  readonly #instance = randomUUID();
  readonly #since = Date.now();
  readonly #bus: Bus;
  readonly #options: WorkerOptions;
  readonly #servers = new Map<string, Server>();
  /** Of each server, as long as this process runs: what is sent once more, by whomever, does not begin a job again. */
  readonly #ended = new Map<string, EndedChannels>();
  #asked = 0;
  readonly #timers: readonly NodeJS.Timeout[];
  #state: Presence['state'] = 'ready';
  /** The last notice of a server. */
  #noted: string | undefined;
  /** Bytes of the last duty that could not be read. */
  #unreadable: number | undefined;

  constructor(bus: Bus, options: WorkerOptions) {
    this.#bus = bus;
    this.#options = options;
    bus.subscribe(subjects.allToWorker(options.name, this.#instance), (subject, data) => this.#message(subject, data));
    bus.subscribe(subjects.servers, (_subject, data) => this.#serverPresent(data));
    this.#timers = [setInterval(() => this.#announce(), announceEvery), setInterval(() => this.#look(), lookEvery)];
    this.#announce();
  }

  get isStopping(): boolean {
    return this.#state !== 'ready';
  }

  /** A channel for questions to a server that is there, the longest known first; undefined: none is. */
  ask(): Channel | undefined {
    const [known] = this.#servers;
    if (!known) return undefined;
    const [serverId, server] = known;
    return this.#channel(server, serverId, `${questionsPrefix}${++this.#asked}`);
  }

  /** Servers need not wait for the next sign of life. */
  announce(): void {
    this.#announce();
  }

  /** Takes no new jobs from now on. */
  stop(): void {
    this.#state = 'stopping';
    this.#announce();
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#state = 'gone';
    this.#announce();
    await this.#bus.flush().catch(() => undefined);
    await this.#bus.close();
  }

  #announce(): void {
    const { name, version, load, services } = this.#options;
    const [state, since] = [this.#state, this.#since];
    const presence: Presence = { protocol, version, host: hostname(), since, state, ...load(), ...services() };
    this.#bus.publish(subjects.presence(name, this.#instance), encoded(presence));
  }

  #serverPresent(data: Uint8Array): void {
    const server = readServerPresence(data);
    if (!server) return;
    const known = this.#servers.get(server.server);
    if (known) known.silent = 0;
    else if (this.#servers.size < mostServers) {
      this.#servers.set(server.server, { silent: 0, channels: new Map() });
      // It need not wait for the next time.
      this.#announce();
    }
  }

  #look(): void {
    for (const [id, server] of this.#servers) {
      if (++server.silent <= silentLooks) continue;
      this.#servers.delete(id);
      for (const channel of server.channels.values())
        channel.end(new Fault('unavailable', `the server that asked for it was not heard of for ${silentLooks} s.`));
    }
  }

  #message(subject: string, data: Uint8Array): void {
    const { kind, server, channel } = readSubject(subject);
    if (kind === 'notice') {
      const notice = readNotice(data);
      if (notice) this.#note(notice.sentence);
    } else if (kind === 'duty') {
      const duty = readDuty(data);
      if (duty) this.#options.takeDuty(duty);
      else this.#unreadableDuty(data.length);
    } else if (kind === 'job') this.#frame(server, channel, data);
  }

  /** Once, however often it comes. */
  #note(sentence: string): void {
    if (sentence === this.#noted) return;
    this.#noted = sentence;
    this.#options.log.warn(sentence);
  }

  /** It is sent again and again, and logged once. */
  #unreadableDuty(bytes: number): void {
    if (bytes === this.#unreadable) return;
    this.#unreadable = bytes;
    this.#options.log.error(
      `A server has sent what this worker is to serve its nodes (${bytes} bytes), and the worker cannot read it: it serves what it served before. "muster servers" shows the versions of both.`,
    );
  }

  #frame(serverId: string, id: string, data: Uint8Array): void {
    const frame = readFrame(data);
    if (!frame) return;
    const server = this.#servers.get(serverId);
    const channel = server?.channels.get(id);
    if (channel) channel.receive(frame);
    else if (server && isFirst(frame) && this.#isNew(serverId, id)) this.#begin(server, serverId, id).receive(frame);
    else if (!isReset(frame)) this.#bus.publish(this.#to(serverId, id), resetFrame());
  }

  #isNew(serverId: string, id: string): boolean {
    const number = readChannelNumber(id);
    return number !== undefined && this.#ended.get(serverId)?.has(number) !== true;
  }

  #begin(server: Server, serverId: string, id: string): Channel {
    const channel = this.#channel(server, serverId, id);
    void this.#options.take(channel);
    return channel;
  }

  #channel(server: Server, serverId: string, id: string): Channel {
    const subject = this.#to(serverId, id);
    const channel = new Channel({
      transmit: (frame) => this.#bus.publish(subject, frame),
      largest: largestJob,
      ended: () => {
        server.channels.delete(id);
        const number = readChannelNumber(id);
        if (number === undefined) return;
        const ended = this.#ended.get(serverId) ?? new EndedChannels();
        this.#ended.set(serverId, ended);
        ended.add(number);
      },
    });
    server.channels.set(id, channel);
    return channel;
  }

  #to(server: string, channel: string): string {
    return subjects.toServer(this.#options.name, this.#instance, server, channel);
  }
}
