import { createSocket, type Socket } from 'node:dgram';
import { randomInt } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { isIP, isIPv6 } from 'node:net';
import { Fault, NothingListens, Unreachable } from '../../core/errors.ts';
import { cancelled, onAbort } from '../../core/waiting.ts';
import {
  type Binding,
  decodeCommunityMessage,
  encodeCommunityMessage,
  encodeRequest,
  type Oid,
  type Request,
  type Response,
  tags,
  versions,
} from './message.ts';
import { reports, type UsmAccess, UsmEnvelope } from './usm.ts';
import { isAbsent, isAfter, isBelow } from './values.ts';

export interface CommunityAccess {
  readonly version: '1' | '2c';
  readonly community: string;
}

export type SnmpAccess = CommunityAccess | UsmAccess;

export interface SnmpAgent {
  /** A name is looked up. */
  readonly address: string;
  readonly port: number;
  readonly access: SnmpAccess;
  /** Milliseconds for each of a few tries; absent: a second. */
  readonly timeout?: number | undefined;
}

/** Of an answer in UDP: what fits into it, and what agents with little memory still make. */
const repetitions = 25;
const usualTimeout = 1_000;
const tries = 3;
/** Tables of large switches have some ten thousand rows. */
const usualRows = 65_536;
/** Bytes of the values of one table. */
const largestWalk = 4 << 20;
/** Somebody may begin to listen. */
const refusedPause = 200;

/** What agents say of requests that they refuse (RFC 3416, error-status). */
const [tooBig, noSuchName] = [1, 2];
const errorWords: Readonly<Record<number, string>> = {
  3: 'the value is wrong',
  4: 'it can only be read',
  6: 'this account or community has no right to it',
  10: 'the value is wrong',
  16: 'this account or community has no right to it',
  17: 'it cannot be written',
  18: 'there is nothing by this name',
};

/** It did not do what it was asked, and said so. */
export class SnmpRefusal extends Fault {
  readonly status: number;

  constructor(status: number) {
    super('invalid', `its SNMP agent refuses it: ${errorWords[status] ?? `error ${status}`}.`);
    this.name = 'SnmpRefusal';
    this.status = status;
  }
}

/** Opens a session, works with it, and closes it. */
export async function withSession<T>(
  agent: SnmpAgent,
  signal: AbortSignal,
  work: (session: SnmpSession) => Promise<T>,
): Promise<T> {
  if (signal.aborted) throw cancelled(signal);
  const address = isIP(agent.address) === 0 ? await resolved(agent.address) : agent.address;
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      // Answers of anybody else are not heard.
      socket.connect(agent.port, address, resolve);
    });
    socket.removeAllListeners('error').on('error', () => undefined);
    return await work(new SnmpSession(socket, agent, signal));
  } catch (error) {
    if (error instanceof Error && 'syscall' in error)
      throw new Unreachable(`its SNMP agent at ${agent.address} cannot be reached: ${error.message}.`, {
        cause: error,
      });
    throw error;
  } finally {
    socket.close();
  }
}

async function resolved(name: string): Promise<string> {
  try {
    return (await lookup(name)).address;
  } catch (error) {
    throw new Fault('invalid', `the address of its SNMP agent, ${name}, is not known.`, { cause: error });
  }
}

/** All values of a part of the tree, each with the rest of its name. */
export const walk = (agent: SnmpAgent, base: Oid, signal: AbortSignal): Promise<Binding[]> =>
  withSession(agent, signal, (session) => session.walk(base));

/** One agent, asked one question after the other. */
export class SnmpSession {
  readonly #socket: Socket;
  readonly #agent: SnmpAgent;
  readonly #signal: AbortSignal;
  readonly #envelope: UsmEnvelope | undefined;

  constructor(socket: Socket, agent: SnmpAgent, signal: AbortSignal) {
    this.#socket = socket;
    this.#agent = agent;
    this.#signal = signal;
    this.#envelope = agent.access.version === '3' ? new UsmEnvelope(agent.access) : undefined;
  }

  /** The values of these names, in this order; undefined where there is none. */
  async get(oids: readonly Oid[]): Promise<(Binding | undefined)[]> {
    const { error, bindings } = await this.#ask({ tag: tags.get, bindings: oids.map((oid) => ({ oid })) });
    // Version 1 refuses all where one is missing, and agents have different ideas of what is too much.
    if ((error === noSuchName || error === tooBig) && oids.length > 1) {
      const each = [];
      for (const oid of oids) each.push(...(await this.get([oid])));
      return each;
    }
    if (error === noSuchName) return oids.map(() => undefined);
    if (error !== 0) throw new SnmpRefusal(error);
    return oids.map((oid) => bindings.find((one) => one.oid.join() === oid.join() && !isAbsent(one)));
  }

  /** All values below the name, each with the rest of its name. More than `most` is an error. */
  async walk(base: Oid, most = usualRows): Promise<Binding[]> {
    const rows: Binding[] = [];
    let size = 0;
    const tag = this.#agent.access.version === '1' ? tags.getNext : tags.getBulk;
    for (let after = base; ; ) {
      const { bindings, error } = await this.#ask({
        tag,
        repetitions: tag === tags.getBulk ? repetitions : 0,
        bindings: [{ oid: after }],
      });
      if (error !== 0 && error !== noSuchName) throw new SnmpRefusal(error);
      for (const { oid, ...value } of bindings) {
        // What does not go forward would never end.
        if (error !== 0 || isAbsent(value) || !isBelow(oid, base) || !isAfter(oid, after)) return rows;
        size += value.content.length;
        // A copy: a view would keep the whole packet.
        rows.push({ oid: oid.slice(base.length), ...value, content: Buffer.from(value.content) });
        after = oid;
      }
      if (bindings.length === 0) return rows;
      if (size > largestWalk)
        throw new Fault('garbled', `its SNMP agent at ${this.#agent.address} has too large a table.`);
      if (rows.length > most)
        throw new Fault('garbled', `its SNMP agent at ${this.#agent.address} has more than ${most} rows in a table.`);
    }
  }

  /** Sent once: without an answer nobody knows whether it was done. */
  async set(bindings: readonly { readonly oid: Oid; readonly value: Buffer }[]): Promise<void> {
    const { error } = await this.#ask({ tag: tags.set, bindings }, 1);
    if (error !== 0) throw new SnmpRefusal(error);
  }

  async #ask(request: Request, most = tries): Promise<Response> {
    const envelope = this.#envelope;
    const id = randomInt(1, 0x7fff_ffff);
    if (!envelope) {
      const { version, community } = this.#agent.access as CommunityAccess;
      const number = versions[version];
      const bytes = encodeCommunityMessage(number, community, encodeRequest(id, request));
      return this.#exchange(bytes, most, (answer) => {
        const response = decodeCommunityMessage(answer, number);
        return response.tag === tags.response && response.id === id ? response : undefined;
      });
    }
    if (!envelope.knowsEngine) await this.#discover(envelope);
    for (let corrected = false; ; corrected = true) {
      const bytes = envelope.seal(id, encodeRequest(id, request));
      const opened = await this.#exchange(bytes, most, (answer) => {
        const found = envelope.open(answer);
        if ('report' in found) return found.id === id ? found : undefined;
        return found.response.id === id && found.id === id ? found : undefined;
      });
      if ('response' in opened) return opened.response;
      // The agent has said what time it is, and has done nothing.
      if (opened.report !== reports.notInTime || corrected)
        throw reportedFault(opened.report, this.#agent.access as UsmAccess);
    }
  }

  #discover(envelope: UsmEnvelope): Promise<unknown> {
    const id = randomInt(1, 0x7fff_ffff);
    return this.#exchange(envelope.discovery(id), tries, (answer) => {
      const found = envelope.open(answer);
      return found.id === id && 'report' in found ? found : undefined;
    });
  }

  /** Sends until there is an answer. What `read` throws a RangeError for, or does not want, counts as none. */
  async #exchange<T extends object>(bytes: Buffer, most: number, read: (answer: Buffer) => T | undefined): Promise<T> {
    const timeout = this.#agent.timeout ?? usualTimeout;
    let isRefused = false;
    for (let attempt = 0; attempt < most; attempt++) {
      const outcome = await this.#answer(bytes, most === 1 ? timeout * tries : timeout, read);
      if (typeof outcome === 'object') return outcome;
      isRefused = outcome === 'refused';
    }
    const { address, port, access } = this.#agent;
    if (isRefused) throw new NothingListens(`nothing listens at UDP port ${port} of ${address} for SNMP.`);
    const check = access.version === '3' ? 'SNMP version and user' : 'SNMP version and community';
    throw new Unreachable(`its SNMP agent at ${address} does not answer; check its address, ${check}.`);
  }

  #answer<T extends object>(
    bytes: Buffer,
    timeout: number,
    read: (answer: Buffer) => T | undefined,
  ): Promise<T | 'silent' | 'refused'> {
    const [socket, signal] = [this.#socket, this.#signal];
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        ignore();
        socket.off('message', hear);
        socket.off('error', fail);
        settle();
      };
      const hear = (answer: Buffer): void => {
        const found = readable(answer, read);
        if (found) end(() => resolve(found));
      };
      const fail = (): void => {
        clearTimeout(timer);
        timer = setTimeout(() => end(() => resolve('refused')), refusedPause);
      };
      const ignore = onAbort(signal, () => end(() => reject(cancelled(signal))));
      let timer = setTimeout(() => end(() => resolve('silent')), timeout);
      socket.on('message', hear);
      socket.on('error', fail);
      if (signal.aborted) end(() => reject(cancelled(signal)));
      else socket.send(bytes);
    });
  }
}

function readable<T>(answer: Buffer, read: (answer: Buffer) => T | undefined): T | undefined {
  try {
    return read(answer);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function reportedFault(report: number, { user }: UsmAccess): Fault {
  const said: Readonly<Record<number, string>> = {
    [reports.unsupportedLevel]: 'its SNMP agent does not take this security level of the user; check seclevel.',
    [reports.notInTime]: 'its SNMP agent has another time than it says.',
    [reports.unknownUser]: `its SNMP agent does not know the user "${user}"; check snmpuser.`,
    [reports.wrongDigest]: `its SNMP agent does not take the authentication key of "${user}"; check authtype and authkey.`,
    [reports.cannotDecrypt]: `its SNMP agent cannot decrypt what "${user}" sends; check privtype and privkey.`,
  };
  return new Fault('invalid', said[report] ?? 'its SNMP agent refuses the question and does not say why.');
}
