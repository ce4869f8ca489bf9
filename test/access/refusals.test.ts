import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Refusals } from '../../src/access/refusals.ts';
import type { AuditRecord } from '../../src/database/database.ts';

const start = Date.UTC(2026, 0, 2, 3, 4, 5);
const minute = 60_000;
let written: AuditRecord[];
let failures: unknown[];
let refusals: Refusals;
let requests: number;

beforeEach(() => {
  vi.useFakeTimers({ now: start });
  written = [];
  failures = [];
  requests = 0;
  refusals = new Refusals(
    async (record) => void written.push(record),
    (error) => failures.push(error),
  );
});
afterEach(() => vi.useRealTimers());

const refusal = (client: string, user: string, command = 'lsdef'): AuditRecord => ({
  time: Date.now(),
  user,
  client,
  command,
  noderange: '',
  args: '',
  status: 'Denied (authentication)',
  request: `r${++requests}`,
});

test('the first of an address is written at once, the rest of its minute as one record', async () => {
  const first = refusal('10.0.0.1', 'root');
  await refusals.note(first);
  expect(written).toEqual([first]);
  vi.advanceTimersByTime(1_000);
  for (let i = 0; i < 500; i++) await refusals.note(refusal('10.0.0.1', 'root'));
  vi.advanceTimersByTime(58_000);
  await refusals.note(refusal('10.0.0.1', 'root'));
  expect(written).toEqual([first]);
  vi.advanceTimersByTime(1_000);
  expect(written.slice(1)).toEqual([
    {
      time: start + 59_000,
      user: 'root',
      client: '10.0.0.1',
      command: 'lsdef',
      noderange: '',
      args: '501 refusals from 2026-01-02T03:04:06.000Z to 2026-01-02T03:05:04.000Z; accounts "root"',
      status: 'Denied (authentication)',
      request: 'r502',
    },
  ]);
});

test('after its minute an address begins again', async () => {
  await refusals.note(refusal('10.0.0.1', 'root'));
  vi.advanceTimersByTime(minute);
  expect(written.length).toBe(1);
  await refusals.note(refusal('10.0.0.1', 'root'));
  expect(written.length).toBe(2);
});

test('a second one alone is kept as it is', async () => {
  await refusals.note(refusal('10.0.0.1', 'root'));
  const second = refusal('10.0.0.1', 'admin', 'rmdef');
  await refusals.note(second);
  vi.advanceTimersByTime(minute);
  expect(written[1]).toEqual(second);
});

test('a few of the names that were tried are told, and how many requests had none', async () => {
  await refusals.note(refusal('10.0.0.1', 'first'));
  for (let i = 0; i < 1_000; i++) await refusals.note(refusal('10.0.0.1', `${'x'.repeat(300)}${i % 300}`));
  for (let i = 0; i < 20; i++) await refusals.note(refusal('10.0.0.1', `user"${i}`, `command${i}`));
  for (let i = 0; i < 7; i++) await refusals.note(refusal('10.0.0.1', ''));
  vi.advanceTimersByTime(minute);
  expect(written[1]).toMatchObject({ user: '', command: '', client: '10.0.0.1' });
  const { args } = written[1]!;
  expect(args).toMatch(/^1027 refusals from /);
  expect(args).toContain(`; accounts "${'x'.repeat(64)}", "user\\"0", "user\\"1",`);
  expect(args).toMatch(/"user\\"6" and others; 7 without an account$/);
});

test('addresses are counted apart, those of one IPv6 network together', async () => {
  await refusals.note(refusal('10.0.0.1', 'a'));
  await refusals.note(refusal('10.0.0.2', 'b'));
  for (let i = 1; i < 50; i++) await refusals.note(refusal(`2001:db8::${i}`, 'c'));
  expect(written.map(({ client }) => client)).toEqual(['10.0.0.1', '10.0.0.2', '2001:db8::1']);
  vi.advanceTimersByTime(minute);
  expect(written.slice(3)).toMatchObject([
    { client: '2001:db8:0:0::/64', args: expect.stringMatching(/^48 refusals/) },
  ]);
});

test('a flood from very many addresses is counted together', async () => {
  for (let i = 0; i < 5_000; i++) await refusals.note(refusal(`10.0.${i >> 8}.${i & 255}`, 'root'));
  const atOnce = written.length;
  expect(atOnce).toBeLessThan(300);
  vi.advanceTimersByTime(minute);
  expect(written.slice(atOnce)).toMatchObject([
    { client: 'other addresses', user: 'root', args: expect.stringMatching(`^${5_000 - atOnce} refusals`) },
  ]);
  await refusals.note(refusal('10.9.9.9', 'root'));
  expect(written.at(-1)!.client).toBe('10.9.9.9');
});

test('what is counted is written when the service stops', async () => {
  for (let i = 0; i < 10; i++) await refusals.note(refusal('10.0.0.1', 'root'));
  await refusals.close();
  expect(written[1]!.args).toMatch(/^9 refusals/);
  vi.advanceTimersByTime(minute);
  expect(written.length).toBe(2);
});

test('a first one that cannot be written is an error of its request, a count that cannot be is told', async () => {
  const broken = new Refusals(
    () => Promise.reject(new Error('disk full')),
    (error) => failures.push(error),
  );
  await expect(broken.note(refusal('10.0.0.1', 'root'))).rejects.toThrow('disk full');
  await broken.note(refusal('10.0.0.1', 'root'));
  await broken.close();
  expect(failures).toEqual([new Error('disk full')]);
});

test('what an account is refused over and over is a hundred records, one more and a count that says what was asked', async () => {
  const denied = (): AuditRecord => ({
    ...refusal('10.0.0.1', 'op', 'chdef'),
    noderange: 'n1',
    args: '-t node -o n1 rack=r1',
    status: 'Denied',
  });
  for (let i = 0; i < 1_500; i++) await refusals.noteKnown(denied());
  await refusals.noteKnown({ ...denied(), user: 'another' });
  expect(written.length).toBe(102);
  expect(written.at(-1)).toMatchObject({ user: 'another' });
  vi.advanceTimersByTime(minute);
  expect(written.slice(102)).toMatchObject([
    {
      user: 'op',
      client: '10.0.0.1',
      command: 'chdef',
      noderange: 'n1',
      status: 'Denied',
      args: expect.stringMatching(
        /^1399 refusals from .*; accounts "op"; each with the arguments -t node -o n1 rack=r1$/,
      ),
    },
  ]);
  await refusals.noteKnown(denied());
  expect(written.length).toBe(104);
});

test('an account that asks for something else every time fills no more, and all is counted', async () => {
  for (let i = 0; i < 1_500; i++)
    await refusals.noteKnown({ ...refusal('10.0.0.1', 'op', 'lsdef'), noderange: `n${i}`, status: 'Denied' });
  await refusals.close();
  expect(written.length).toBe(202);
  expect(written.at(-1)).toMatchObject({ user: 'op', noderange: '', args: expect.stringMatching(/^1299 refusals /) });
});
