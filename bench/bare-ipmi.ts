/**
 * The least a warm exchange with a BMC can cost: one socket, sessions opened once, and at every SIGUSR2 one Get Chassis Status to
 * each BMC, all at once. No timers, no retries, no queues. Arguments: a file with the addresses, one a line. Prints `ready` when all
 * sessions are open and `round <number>` when all have answered.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { credentialsOf, suites } from '../src/protocols/ipmi/link.ts';
import { advance, type Handshake, newHandshake, writeOffer, writeRakp } from '../src/protocols/ipmi/handshake.ts';
import { recipientOf } from '../src/protocols/ipmi/header.ts';
import { fillRandom, packetSize, randomWord, type Wire } from '../src/protocols/ipmi/wire.ts';
import { hear, levels, newSession, nextSequence, sendClose, sendRequest } from '../src/protocols/ipmi/session.ts';
import type { Session } from '../src/protocols/ipmi/session.ts';
import { labAccounts } from '../test/lab/addresses.ts';

interface Bmc {
  readonly wire: Wire;
  readonly handshake: Handshake;
  session: Session | undefined;
}

const port = 623;
const status = { netfn: 0x00, command: 0x01 };
const addresses = readFileSync(process.argv[2] ?? '', 'utf8')
  .trim()
  .split('\n');
const socket = createSocket({
  type: 'udp4',
  recvBufferSize: 8 << 20,
  sendBufferSize: 4 << 20,
  lookup: (address, _options, done) => done(null, address, 4),
});
const packet = Buffer.alloc(packetSize);
const bmcs = new Map<number, Bmc>();
let waiting = addresses.length;
let rounds = 0;

function wireTo(address: string): Wire {
  const nothing = (): void => undefined;
  return {
    now: () => performance.now(),
    lag: () => 0,
    chance: Math.random,
    fill: fillRandom,
    packet: () => packet,
    send: (bytes, length) => socket.send(bytes, 0, length, port, address),
    claim: randomWord,
    release: nothing,
    takeOwnSource: () => Promise.reject(new Error('there is one socket for all')),
    wake: nothing,
    heardNoise: () => false,
  };
}

function open(address: string): void {
  const credentials = credentialsOf({ address, ...labAccounts.administrator });
  const wire = wireTo(address);
  const handshake = newHandshake(credentials, suites[17], levels.administrator, (target) =>
    wire.fill(target, 0, target.length),
  );
  const id = wire.claim();
  bmcs.set(id, { wire, handshake, session: undefined });
  wire.send(packet, writeOffer(handshake, packet, id, 0));
}

function logIn(bmc: Bmc, answer: Buffer): void {
  const verdict = advance(bmc.handshake, answer);
  if (verdict.kind === 'next') bmc.wire.send(packet, writeRakp(bmc.handshake, packet));
  else if (verdict.kind === 'ready') {
    bmc.session = newSession(verdict.seal, levels.administrator, 0);
    answered('ready');
  } else throw new Error(`A BMC could not be logged in to: ${JSON.stringify(verdict)}`);
}

function answered(word: string): void {
  if (--waiting === 0) console.log(word);
}

socket.on('message', (answer) => {
  const bmc = bmcs.get(recipientOf(answer));
  if (!bmc) return;
  if (!bmc.session) return logIn(bmc, answer);
  const heard = hear(bmc.session, answer, status, bmc.session.requestSequence);
  if (typeof heard === 'object' && heard.code === 0) answered(`round ${rounds}`);
});
const listening = once(socket, 'listening');
socket.bind(0);
await listening;
addresses.forEach(open);

process.on('SIGUSR2', () => {
  rounds++;
  waiting = bmcs.size;
  for (const { wire, session } of bmcs.values()) sendRequest(wire, session!, status, nextSequence(session!));
});
process.once('SIGTERM', () => {
  for (const { wire, session } of bmcs.values()) if (session) sendClose(wire, session);
  socket.close(() => process.exit(0));
});
