import { createHash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { Md5Lanes } from '../../src/core/md5-lanes.ts';

const size = 256;

/** The sums of texts of which eight at a time are hashed, the next one wherever a lane is free. */
function sumsOf(texts: readonly Buffer[]): string[] {
  const lanes = new Md5Lanes(size);
  const sums: string[] = [];
  const open: ({ readonly text: number; at: number } | undefined)[] = lanes.buffers.map(() => undefined);
  let next = 0;
  for (;;) {
    for (const [lane, buffer] of lanes.buffers.entries()) {
      if (lanes.isBusy(lane)) continue;
      let it = open[lane];
      if (it && it.at > texts[it.text]!.length) {
        sums[it.text] = lanes.digest(lane);
        it = open[lane] = undefined;
      }
      if (!it && next < texts.length) {
        it = open[lane] = { text: next++, at: 0 };
        lanes.begin(lane);
      }
      if (!it) continue;
      const text = texts[it.text]!;
      const length = text.copy(buffer, 0, it.at, it.at + size);
      const isLast = it.at + length === text.length;
      lanes.put(lane, length, isLast);
      it.at += isLast ? length + 1 : length;
    }
    if (open.every((each) => each === undefined)) return sums;
    lanes.hash();
  }
}

const md5 = (text: Buffer): string => createHash('md5').update(text).digest('hex');

test('texts of every length have the sums they have one by one', () => {
  const texts = Array.from({ length: 3 * size }, (_, length) => randomBytes(length));
  expect(sumsOf(texts)).toEqual(texts.map(md5));
});

test('lanes do not depend on each other, however long the other texts are', () => {
  const lengths = [100_000, 0, 1, 64, 63, 65, 55, 56, 57, 4 * size, 50_000, 7, 128, 3];
  const texts = lengths.map((length) => randomBytes(length));
  expect(sumsOf(texts)).toEqual(texts.map(md5));
});

test('fewer texts than lanes are hashed too', () => {
  expect(sumsOf([])).toEqual([]);
  expect(sumsOf([Buffer.from('abc')])).toEqual(['900150983cd24fb0d6963f7d28e17f72']);
});
