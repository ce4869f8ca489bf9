import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ConsoleLogs } from '../../src/consoles/logs.ts';

let data: string;
let errors: unknown[];
const settings = { logSize: 2_000, logsKept: 2, writeSeconds: 3_600 };
const open = (): ConsoleLogs =>
  new ConsoleLogs(data, settings, { error: (...words: unknown[]) => void errors.push(words) } as never);
const never = new AbortController().signal;

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'muster-logs-'));
  errors = [];
});
afterEach(() => rmSync(data, { recursive: true }));

const textsOf = async (
  logs: ConsoleLogs,
  node: string,
  asked: { since?: number; most?: number; search?: string } = {},
) => (await logs.texts(node, { since: 0, most: 1_000, ...asked }, never)).map((line) => line.slice(25));

it('shows what has just been printed, though it is written later', async () => {
  const logs = open();
  logs.note('n1', 'connected: SOL 10.0.0.5');
  logs.output('n1', 'booting', '');
  expect(await textsOf(logs, 'n1')).toEqual(['-- connected: SOL 10.0.0.5', 'booting']);
  expect(await textsOf(logs, 'n2')).toEqual([]);
  const file = join(data, 'consoles/n1.log');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(join(data, 'consoles')).mode & 0o777).toBe(0o700);
  expect(readFileSync(file, 'utf8')).toMatch(/^\S+Z \\# connected: SOL 10\.0\.0\.5\n\S+Z booting\n$/);
});

it('bounds what it keeps of a node, and forgets the oldest first', async () => {
  const logs = open();
  for (let i = 0; i < 400; i++) {
    logs.output('n1', `line ${i}`, '');
    if (i % 10 === 9) await logs.flush();
  }
  const files = readdirSync(join(data, 'consoles')).sort();
  expect(files).toEqual(['n1.log', 'n1.log.1', 'n1.log.2']);
  for (const file of files) expect(statSync(join(data, 'consoles', file)).size).toBeLessThanOrEqual(settings.logSize);
  const lines = await textsOf(logs, 'n1');
  expect(lines.at(-1)).toBe('line 399');
  expect(lines).toEqual(lines.map((_, i) => `line ${400 - lines.length + i}`));
  expect(await textsOf(logs, 'n1', { most: 3 })).toEqual(['line 397', 'line 398', 'line 399']);
});

it('goes on with the files of before', async () => {
  const first = open();
  first.output('n1', 'before', '');
  await first.close();
  const logs = open();
  logs.output('n1', 'after', '');
  expect(await textsOf(logs, 'n1')).toEqual(['before', 'after']);
  expect((await logs.tail('n1', 100)).toString()).toBe('before\r\nafter\r\n');
  expect((await logs.tail('n1', 10)).toString()).toBe('after\r\n');
});

it('finds text in capitals or not, also where colours divide it', async () => {
  const logs = open();
  for (const line of ['fine', 'Kernel PANIC - not syncing', 'kernel \\x1b[31mpanic\\x1b[0m again'])
    logs.output('n1', line, '');
  logs.output('n2', 'fine too', '');
  expect(await textsOf(logs, 'n1', { search: 'kernel panic' })).toEqual([
    'Kernel PANIC - not syncing',
    'kernel panic again',
  ]);
  expect(await textsOf(logs, 'n2', { search: 'kernel panic' })).toEqual([]);
  expect(await textsOf(logs, 'n1', { since: Date.now() + 1_000 })).toEqual([]);
});

it('passes over what a crash has left of a line', async () => {
  const logs = open();
  logs.output('n1', 'whole', '');
  await logs.flush();
  const file = join(data, 'consoles/n1.log');
  writeFileSync(file, `${readFileSync(file, 'utf8')}2026-11-15T09:0`);
  expect(await textsOf(open(), 'n1')).toEqual(['whole']);
});

it('says what is missing when nothing could be written, and goes on when it can', async () => {
  writeFileSync(join(data, 'consoles'), 'in the way');
  const logs = new ConsoleLogs(data, { ...settings, logSize: 1 << 20 }, {
    error: (...words: unknown[]) => void errors.push(words),
  } as never);
  for (let i = 0; i < 9_000; i++) logs.output('n1', `line ${i} ${'x'.repeat(40)}`, '');
  await logs.flush();
  await logs.flush();
  expect(errors).toHaveLength(1);
  rmSync(join(data, 'consoles'));
  logs.output('n1', 'one more', '');
  await logs.flush();
  const lines = await textsOf(logs, 'n1', { most: 100_000 });
  expect(lines[0]).toMatch(/^line 0 /);
  expect(lines.at(-1)).toMatch(/^-- \d+ lines are missing: they could not be written$/);
  const missing = Number(/\d+/.exec(lines.at(-1)!)![0]);
  expect(lines.length - 1 + missing).toBe(9_001);
});

it('keeps the log of a node with a strange name in its own directory', async () => {
  const logs = open();
  for (const node of ['../../etc/passwd', '.', '..', 'a/b']) logs.output(node, 'text', '');
  await logs.flush();
  expect(readdirSync(data)).toEqual(['consoles']);
  expect([...(await logs.nodes())].sort()).toEqual(['.', '..', '../../etc/passwd', 'a/b']);
});

it('lets others have their turns while it reads a large log', async () => {
  const logs = new ConsoleLogs(data, { ...settings, logSize: 64 << 20 }, { error: () => {} } as never);
  for (let i = 0; i < 60; i++) {
    for (let k = 0; k < 1_000; k++) logs.output('n1', '\\x1b[1;2H\\x1b]x'.repeat(4), '');
    await logs.flush();
  }
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  expect(await logs.texts('n1', { since: 0, most: 100_000 }, never)).toHaveLength(60_000);
  clearInterval(timer);
  expect(turns).toBeGreaterThan(10);
});
