import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scratchDirectory } from '../harness/store.ts';

/** A call to the system, from its beginning to its end, as strace saw it. */
interface Call {
  readonly name: string;
  readonly text: string;
  readonly began: number;
  readonly ended: number;
}

/** Calls of threads overlap: strace shows the beginning of one and later its end, each in a line of its own. */
function parseTrace(trace: string): Call[] {
  const calls: Call[] = [];
  const unfinished = new Map<string, { text: string; began: number }>();
  for (const [at, line] of trace.split('\n').entries()) {
    const [, thread, text] = /^(\d+)\s+((?:\w|<\.\.\.).*)$/.exec(line) ?? [];
    if (thread === undefined || text === undefined) continue;
    if (text.endsWith('<unfinished ...>')) {
      unfinished.set(thread, { text, began: at });
      continue;
    }
    const resumed = text.startsWith('<...') ? unfinished.get(thread) : undefined;
    const whole = (resumed?.text ?? '') + text;
    calls.push({ name: /^\w+/.exec(whole)![0], text: whole, began: resumed?.began ?? at, ended: at });
  }
  return calls;
}

const directory = scratchDirectory();
let calls: Call[];

beforeAll(() => {
  const trace = join(directory, 'trace');
  const script = join(import.meta.dirname, '..', 'harness', 'sync-writer.ts');
  const { status, stderr } = spawnSync(
    'strace',
    [
      '-f',
      '-y',
      '-e',
      'trace=fdatasync,fsync,write,pwrite64',
      '-o',
      trace,
      process.execPath,
      script,
      join(directory, 'db'),
    ],
    { encoding: 'utf8' },
  );
  expect([status, stderr]).toEqual([0, '']);
  calls = parseTrace(readFileSync(trace, 'utf8'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const marker = (text: string): Call =>
  calls.find(({ name, text: shown }) => name === 'write' && shown.includes(`"${text}`))!;
const toLog = ({ text }: Call): boolean => text.includes('db-wal>');
const isSync = ({ name }: Call): boolean => name === 'fdatasync' || name === 'fsync';

describe.each([1, 2, 3])('change set %d', (number) => {
  test('is in the log and synced before it is acknowledged', () => {
    const asked = marker(`asked ${number}`);
    const acknowledged = marker(`acknowledged ${number}`);
    const during = calls.filter(({ began, ended }) => began > asked.began && ended < acknowledged.began);
    const written = during.findLast((call) => call.name === 'pwrite64' && toLog(call));
    const synced = during.find((call) => isSync(call) && toLog(call) && call.began > (written?.ended ?? Infinity));
    expect(written?.text).toMatch(/= \d+$/);
    expect(synced?.text).toMatch(/= 0$/);
  });
});
