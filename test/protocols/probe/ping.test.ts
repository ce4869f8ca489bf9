import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Pinger } from '../../../src/protocols/probe/ping.ts';

const path = process.env['PATH'];
const never = new AbortController().signal;
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-test-'));
});
afterEach(() => {
  process.env['PATH'] = path;
  rmSync(directory, { recursive: true });
});

/** Another fping; its lines of standard input are in $asked. */
function useInstead(script: string): void {
  const file = join(directory, 'fping');
  writeFileSync(file, `#!/bin/sh\nasked=$(cat)\necho "$asked" >> ${directory}/log\n${script}\n`);
  chmodSync(file, 0o755);
  process.env['PATH'] = `${directory}:${path}`;
}

const asked = (): string[] =>
  existsSync(join(directory, 'log')) ? readFileSync(join(directory, 'log'), 'utf8').trim().split('\n') : [];

test('who does not answer is asked twice', async () => {
  useInstead('echo "$asked" | grep 127.0.0.1; exit 1');
  const pinger = new Pinger();
  const all = ['127.0.0.1', '127.0.0.2', '127.0.0.1'].map((address) => pinger.ping(address, never));
  expect(await Promise.all(all)).toEqual([true, false, true]);
  expect(asked()).toEqual(['127.0.0.1', '127.0.0.2', '127.0.0.2']);
});

test('without fping nobody knows', async () => {
  process.env['PATH'] = directory;
  expect(await new Pinger().ping('127.0.0.1', never)).toBeUndefined();
});

test('of one that hangs nobody knows what it has not told, and others are not kept waiting', async () => {
  useInstead('echo 127.0.0.1; exec sleep 60');
  const pinger = new Pinger(2_000);
  expect(await Promise.all(['127.0.0.1', '127.0.0.2'].map((address) => pinger.ping(address, never)))).toEqual([
    true,
    undefined,
  ]);
  useInstead('echo "$asked"');
  expect(await pinger.ping('127.0.0.2', never)).toBe(true);
});

test('who has left is not asked for', async () => {
  useInstead('echo "$asked"');
  const pinger = new Pinger();
  const left = AbortSignal.abort();
  const all = [pinger.ping('127.0.0.1', left), pinger.ping('127.0.0.2', left), pinger.ping('127.0.0.2', never)];
  expect(await Promise.all(all)).toEqual([undefined, true, true]);
  expect(await pinger.ping('127.0.0.3', left)).toBeUndefined();
  expect(asked()).toEqual(['127.0.0.2']);
});

test('who leaves after the first call is not called again', async () => {
  const leaving = new AbortController();
  useInstead(`until [ -e ${directory}/left ]; do sleep 0.05; done; exit 1`);
  const answer = new Pinger().ping('127.0.0.1', leaving.signal);
  await expect.poll(asked).toHaveLength(1);
  leaving.abort();
  writeFileSync(join(directory, 'left'), '');
  expect(await answer).toBeUndefined();
  expect(asked()).toEqual(['127.0.0.1']);
});
