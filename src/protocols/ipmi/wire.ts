import { randomFillSync } from 'node:crypto';

/** All that the machines of this folder want from the world, so that a test can be the world. */
export interface Wire {
  /** In milliseconds. */
  now(): number;
  /** Milliseconds, from the beginning on, in which this process could not listen. */
  lag(): number;
  /** A number from 0 up to 1, to spread retries. */
  chance(): number;
  /** Random bytes for keys and vectors. */
  fill(target: Buffer, start: number, length: number): void;
  /** A buffer to write the next packet into; it may be another one after each `send`. */
  packet(): Buffer;
  send(packet: Buffer, length: number): void;
  /** A new session id of ours; packets for it come here until it is released. */
  claim(): number;
  release(id: number): void;
  /** From now on packets go from a port that this BMC has not seen before, where one can be had. No id is claimed meanwhile. */
  takeOwnSource(): Promise<void>;
  /** Asks for a `tick` at this time, in place of the one asked for before. */
  wake(at: number): void;
  /** Whether the other side sent what is no IPMI 2.0 packet since then. */
  heardNoise(since: number): boolean;
}

/** What hears of the world: of packets for its ids, of the time it wanted to be woken at, and of what could not be sent. */
export interface Talker {
  receive(packet: Buffer): void;
  tick(now: number): void;
  unreachable(error: NodeJS.ErrnoException): void;
}

/** The same world for a part that is woken by itself. */
export const withWake = (wire: Wire, wake: (at: number) => void): Wire => ({
  now: () => wire.now(),
  lag: () => wire.lag(),
  chance: () => wire.chance(),
  fill: (target, start, length) => wire.fill(target, start, length),
  packet: () => wire.packet(),
  send: (packet, length) => wire.send(packet, length),
  claim: () => wire.claim(),
  release: (id) => wire.release(id),
  takeOwnSource: () => wire.takeOwnSource(),
  heardNoise: (since) => wire.heardNoise(since),
  wake,
});

/** Room for the longest request that is sent. */
export const packetSize = 1024;

const size = 4096;
const pool = Buffer.alloc(size);
let used = size;

/** Random bytes from a pool: asking the system for 16 at a time costs more than using them. */
export function fillRandom(target: Buffer, start: number, length: number): void {
  if (used + length > size) {
    randomFillSync(pool);
    used = 0;
  }
  pool.copy(target, start, used, used + length);
  pool.fill(0, used, used + length);
  used += length;
}

const word = Buffer.alloc(4);

export function randomWord(): number {
  fillRandom(word, 0, 4);
  return word.readUInt32LE(0);
}
