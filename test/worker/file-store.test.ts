import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { FileStore } from '../../src/worker/file-store.ts';
import { scratchDirectory } from '../harness/store.ts';

const scratch = scratchDirectory();
afterAll(() => rmSync(scratch, { recursive: true }));

/** A file as the server gives it, in pieces of ten bytes. */
function file(content: string) {
  const bytes = Buffer.from(content);
  const hash = createHash('sha256').update(bytes).digest('hex');
  let fetched = 0;
  const piece = async (index: number): Promise<Buffer> => {
    fetched++;
    return bytes.subarray(index * 10, index * 10 + 10);
  };
  return { hash, size: bytes.length, piece, fetched: () => fetched };
}

test('files are fetched once, and the longest unused make room for others', async () => {
  const directory = join(scratch, 'room');
  const store = new FileStore(directory, 100);
  const [a, b, c] = ['a', 'b', 'c'].map((letter) => file(letter.repeat(40)));
  for (const { hash, size, piece } of [a!, b!, a!]) {
    expect(readFileSync(await store.hold(hash, size, piece, true), 'utf8')).toMatch(/^([ab])\1{39}$/);
    store.release(hash);
  }
  expect(a!.fetched()).toBe(4);
  await store.hold(c!.hash, c!.size, c!.piece, true);
  expect(readdirSync(directory).toSorted()).toEqual([a!.hash, c!.hash].toSorted());
});

test('files that are in use stay, and what does not fit is refused with the setting to raise', async () => {
  const store = new FileStore(join(scratch, 'used'), 100);
  const [a, b] = [file('a'.repeat(60)), file('b'.repeat(60))];
  const path = await store.hold(a.hash, a.size, a.piece, true);
  await expect(store.hold(b.hash, b.size, b.piece, true)).rejects.toThrow('raise the setting bus.fileCache there');
  expect(existsSync(path)).toBe(true);
});

test('a file that machines wait for makes no room for others while it is fetched', async () => {
  const directory = join(scratch, 'fetched');
  const store = new FileStore(directory, 100);
  const [a, b] = [file('a'.repeat(60)), file('b'.repeat(60))];
  const arrives = Promise.withResolvers<void>();
  const slow = (index: number): Promise<Buffer> => arrives.promise.then(() => a.piece(index));
  const first = store.hold(a.hash, a.size, slow, false);
  await expect(store.hold(b.hash, b.size, b.piece, false)).rejects.toThrow('raise the setting bus.fileCache there');
  const again = store.hold(a.hash, a.size, a.piece, false);
  arrives.resolve();
  expect(await again).toBe(await first);
  expect([a.fetched(), readFileSync(await first, 'utf8')]).toEqual([6, 'a'.repeat(60)]);
  await store.hold(b.hash, b.size, b.piece, false);
  expect(readdirSync(directory)).toEqual([b.hash]);
});

test('a worker that starts again checks what it kept, and removes what it has half', async () => {
  const directory = join(scratch, 'again');
  const [good, bad] = [file('good content'), file('other content')];
  mkdirSync(directory);
  writeFileSync(join(directory, good.hash), 'good content');
  writeFileSync(join(directory, bad.hash), 'damaged');
  writeFileSync(join(directory, `${bad.hash}.half`), 'oth');
  const store = new FileStore(directory, 1_000);
  expect(readFileSync(await store.hold(good.hash, good.size, good.piece, true), 'utf8')).toBe('good content');
  expect(readFileSync(await store.hold(bad.hash, bad.size, bad.piece, true), 'utf8')).toBe('other content');
  expect([good.fetched(), bad.fetched(), readdirSync(directory).length]).toEqual([0, 2, 2]);
});

test('a file that changed meanwhile is not kept', async () => {
  const directory = join(scratch, 'changed');
  const store = new FileStore(directory, 1_000);
  const { hash, size } = file('what was promised');
  const { piece } = file('what it is by now');
  await expect(store.hold(hash, size, piece, true)).rejects.toThrow('changed on the server while it was fetched');
  expect(readdirSync(directory)).toEqual([]);
});
