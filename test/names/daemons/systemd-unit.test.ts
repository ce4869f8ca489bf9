import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLog } from '../../../src/core/log.ts';
import { type Daemon, makeDaemon } from '../../../src/names/daemons/daemon.ts';

const path = process.env['PATH'];
let directory: string;
let unit: Daemon | undefined;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-unit-'));
  process.env['PATH'] = `${directory}:${path}`;
  program('journalctl', 'echo "the disk is full"; echo "toy.service: Failed with result exit-code."');
});
afterEach(async () => {
  await unit?.close();
  vi.useRealTimers();
  process.env['PATH'] = path;
  rmSync(directory, { recursive: true, force: true });
});

function program(name: string, body: string): void {
  const file = join(directory, name);
  writeFileSync(file, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  chmodSync(file, 0o755);
}

const stateFile = (): string => join(directory, 'state');
const setState = (state: 'active' | 'inactive' | 'failed'): void => writeFileSync(stateFile(), state);
const state = (): string => readFileSync(stateFile(), 'utf8').trim();

/** A systemctl that notes what changes something, and keeps the state of one unit; `starting` is what a start does. */
function systemctl(starting = 'echo active >"$state"'): void {
  program(
    'systemctl',
    `state=${stateFile()}
case "$*" in
  'is-active --quiet toy') exec grep -qx active "$state" ;;
  'is-failed --quiet toy') exec grep -qx failed "$state" ;;
esac
echo "$*" >>${join(directory, 'calls')}
case "$1" in
  start|restart) ${starting} ;;
  stop) echo inactive >"$state" ;;
esac`,
  );
}

const calls = (): string[] => readFileSync(join(directory, 'calls'), 'utf8').trim().split('\n');

const make = (ready: () => boolean): Daemon =>
  (unit = makeDaemon(
    { name: 'toy', unit: 'toy', command: [], ready: () => Promise.resolve(ready()) },
    { how: 'systemd', log: createLog('silent'), directory },
  ));

it('is told by systemctl what to do, and is left alone at the end of muster', async () => {
  systemctl();
  setState('inactive');
  const toy = make(() => state() === 'active');
  await toy.start();
  await toy.start();
  await toy.reload();
  expect(await toy.isRunning()).toBe(true);
  await toy.close();
  expect(state()).toBe('active');
  await toy.stop();
  expect(calls()).toEqual([
    '--quiet enable toy',
    'reset-failed toy',
    'start toy',
    '--quiet enable toy',
    'kill --signal=HUP toy',
    '--quiet disable toy',
    'stop toy',
  ]);
});

it('is started by a reload if it does not run', async () => {
  systemctl();
  setState('failed');
  await make(() => state() === 'active').reload();
  expect(calls()).toContain('start toy');
});

it('is restarted if it runs with a configuration that does not let it answer', async () => {
  systemctl();
  setState('active');
  let answers = false;
  const toy = make(() => {
    answers ||= calls().includes('restart toy');
    return answers;
  });
  await toy.start();
  expect(calls()).toEqual(['--quiet enable toy', 'reset-failed toy', 'restart toy']);
});

it('serves also where it cannot be enabled', async () => {
  systemctl();
  program('systemctl', `[ "$2" = enable ] && exit 1\n${readFileSync(join(directory, 'systemctl'), 'utf8')}`);
  setState('inactive');
  await make(() => state() === 'active').start();
  expect(state()).toBe('active');
});

it.each([
  [
    'ends at once',
    'echo failed >"$state"',
    /^toy was started but does not answer\. It said last: the disk is full \| toy/,
  ],
  [
    'fails to start',
    'echo "Job for toy.service failed." >&2; exit 1',
    /^systemctl start toy failed: the disk is full \|/,
  ],
  [
    'is masked',
    'echo "Failed to start toy.service: Unit toy.service is masked." >&2; exit 1',
    /^systemctl start toy failed: Failed to start toy\.service: Unit toy\.service is masked\. journalctl -u toy shows more\.$/,
  ],
])('that %s is an error that says why, without waiting for it', async (_, starting, message) => {
  systemctl(starting);
  setState('inactive');
  const ready = vi.fn(() => false);
  await expect(make(ready).start()).rejects.toThrow(message);
  expect(ready.mock.calls.length).toBeLessThanOrEqual(1);
});

it('that has failed is started again, with pauses that grow, and one that was stopped is not', async () => {
  systemctl();
  setState('inactive');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  /** Lets the time pass until the unit is looked at, and waits until that is over. */
  const look = async (seconds: number): Promise<void> => {
    vi.advanceTimersByTime(seconds * 1_000 - 1);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1);
    expect(vi.getTimerCount()).toBe(0);
    while (vi.getTimerCount() === 0) await pause(10);
  };
  await make(() => state() === 'active').resume();
  await look(5);
  expect(state()).toBe('inactive');
  setState('failed');
  await look(5);
  expect([state(), calls()]).toEqual(['active', ['reset-failed toy', 'start toy']]);
  setState('failed');
  await look(10);
  await look(20);
  expect([state(), calls().length]).toEqual(['active', 4]);
  await look(5);
});
