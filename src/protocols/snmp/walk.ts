import { createSocket, type Socket } from 'node:dgram';
import { randomInt } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { Fault } from '../../core/errors.ts';
import { onAbort } from '../../core/waiting.ts';
import { type Binding, decodeResponse, encodeGetBulk, type Oid, type Response, tags } from './message.ts';

export interface SnmpAgent {
  readonly address: string;
  readonly port: number;
  readonly community: string;
}

const repetitions = 40;
const timeout = 1_000;
const tries = 3;
/** Tables of large switches have some ten thousand rows. */
const mostRows = 65_536;

/** All values of a part of the tree, each with the rest of its name. */
export async function walk(agent: SnmpAgent, base: Oid, signal: AbortSignal): Promise<Binding[]> {
  const socket = createSocket(isIPv6(agent.address) ? 'udp6' : 'udp4');
  const rows: Binding[] = [];
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.connect(agent.port, agent.address, resolve);
    });
    for (let after = base; ; ) {
      const { bindings, error } = await ask(socket, agent, after, signal);
      const inside = bindings.filter(({ oid, tag }) => tag !== tags.endOfView && isBelow(oid, base));
      for (const { oid, ...value } of inside) rows.push({ oid: oid.slice(base.length), ...value });
      const last = inside.at(-1)?.oid;
      // What does not go forward would never end.
      if (error !== 0 || inside.length < bindings.length || !last || !isAfter(last, after)) return rows;
      if (rows.length > mostRows)
        throw new Fault('garbled', `${agent.address} has more than ${mostRows} rows in a table of SNMP.`);
      after = last;
    }
  } finally {
    socket.close();
  }
}

const isBelow = (oid: Oid, base: Oid): boolean =>
  oid.length > base.length && base.every((part, at) => oid[at] === part);

function isAfter(oid: Oid, before: Oid): boolean {
  const at = oid.findIndex((part, index) => part !== before[index]);
  return at >= 0 && (at >= before.length || oid[at]! > before[at]!);
}

async function ask(socket: Socket, agent: SnmpAgent, after: Oid, signal: AbortSignal): Promise<Response> {
  const id = randomInt(1, 0x7fff_ffff);
  const request = encodeGetBulk(agent.community, id, after, repetitions);
  for (let attempt = 0; attempt < tries; attempt++) {
    const response = await answer(socket, request, id, signal);
    if (response) return response;
  }
  throw new Fault('deadline', `the switch at ${agent.address} does not answer by SNMP; is its community right?`);
}

/** Undefined: none has come in time. Answers to others, and what cannot be read, count as none. */
function answer(socket: Socket, request: Buffer, id: number, signal: AbortSignal): Promise<Response | undefined> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      ignore();
      socket.off('message', hear);
      socket.off('error', fail);
      settle();
    };
    const hear = (bytes: Buffer): void => {
      const response = readable(bytes);
      if (response?.id === id) end(() => resolve(response));
    };
    // Nobody listens there, which may change while we try.
    const fail = (): void => undefined;
    const ignore = onAbort(signal, () => end(() => reject(signal.reason as Error)));
    const timer = setTimeout(() => end(() => resolve(undefined)), timeout);
    socket.on('message', hear);
    socket.on('error', fail);
    if (signal.aborted) end(() => reject(signal.reason as Error));
    else socket.send(request);
  });
}

function readable(bytes: Buffer): Response | undefined {
  try {
    return decodeResponse(bytes);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
