import { PassThrough } from 'node:stream';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Slices } from '../../../src/core/slices.ts';
import { PacedReading } from '../../../src/protocols/ssh/connection.ts';

async function begin() {
  const stream = new PassThrough();
  const read: string[] = [];
  stream.on('data', (chunk: Buffer) => read.push(chunk.toString())).pause();
  const reading = new PacedReading(stream, new Slices());
  await turn();
  return { stream, read, reading, text: () => read.join('') };
}

it('hands on all that comes, and the end', async () => {
  const { stream, text } = await begin();
  const ended = new Promise((resolve) => stream.once('end', resolve));
  stream.write('one ');
  await expect.poll(text).toBe('one ');
  stream.write('two ');
  stream.end('three');
  await ended;
  expect(text()).toBe('one two three');
});

it('hands on nothing while it is held, by whomever, and all of it afterwards', async () => {
  const { stream, text, reading } = await begin();
  const [release, releaseToo] = [reading.hold(), reading.hold()];
  stream.write('held');
  await pause(20);
  release();
  await pause(20);
  expect(text()).toBe('');
  releaseToo();
  await expect.poll(text).toBe('held');
  stream.write(', free');
  await expect.poll(text).toBe('held, free');
});
