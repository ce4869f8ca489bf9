import { randomFillSync } from 'node:crypto';

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
