import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { spawn } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createLog } from '../../../src/core/log.ts';
import { type Daemon, type DaemonSpec, makeDaemon } from '../../../src/names/daemons/daemon.ts';
import { isAlive, parseMark, readMark } from '../../../src/names/daemons/supervised-process.ts';

let directory: string;
let socket: string;
const daemons: Daemon[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-daemon-'));
  socket = join(directory, 'socket');
});
afterEach(async () => {
  await Promise.all(daemons.splice(0).map((each) => each.close()));
  rmSync(directory, { recursive: true, force: true });
});

const log = createLog('silent');

/** Answers every connection with how often it was told to reload. */
const server = `
  let reloads = 0;
  process.on('SIGHUP', () => reloads++);
  const path = process.argv[1];
  require('fs').rmSync(path, { force: true });
  require('net').createServer((c) => c.end(String(reloads))).listen(path);
  console.log('serving');
`;

const answer = (): Promise<string | undefined> =>
  new Promise((resolve) => {
    let text = '';
    const connection = connect(socket, () => {}).setTimeout(1_000, () => connection.destroy());
    connection.on('data', (chunk) => (text += String(chunk)));
    connection.on('error', () => resolve(undefined));
    connection.on('close', () => resolve(text || undefined));
  });

const specFor = (overrides: Partial<DaemonSpec> = {}): DaemonSpec => ({
  name: 'toy',
  unit: 'toy',
  command: [process.execPath, '-e', server, socket],
  ready: async () => (await answer()) !== undefined,
  ...overrides,
});

function daemon(overrides: Partial<DaemonSpec> = {}): Daemon {
  const made = makeDaemon(specFor(overrides), { how: 'process', log, directory });
  daemons.push(made);
  return made;
}

const markFile = (): string => join(directory, 'toy.process');
const pid = (): number => readMark(markFile())!.pid;

describe('a supervised process', () => {
  it('runs without its log where that cannot be opened', async () => {
    mkdirSync(join(directory, 'toy.log'));
    const toy = daemon();
    await toy.start();
    expect(await toy.isRunning()).toBe(true);
  });

  it('that prints a lot fills no disk while it runs', async () => {
    // It prints as much as is kept, and then as much again.
    const chatty = `${server}; const much = 'x'.repeat(2 ** 20); process.on('SIGHUP', () => { for (let i = 0; i < 17; i++) console.log(much); });`;
    const toy = daemon({ command: [process.execPath, '-e', chatty, socket] });
    await toy.start();
    const size = (name: string): number => statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0;
    for (const reloads of ['1', '2']) {
      await toy.reload();
      await expect.poll(answer).toBe(reloads);
      await expect.poll(() => size('toy.log.1')).toBeGreaterThan(16 * 2 ** 20);
      await expect.poll(() => size('toy.log')).toBeLessThan(2 * 2 ** 20);
    }
    expect(await toy.isRunning()).toBe(true);
  });

  it('is started, reloaded, stopped and started again', async () => {
    const toy = daemon();
    expect(await toy.isRunning()).toBe(false);
    await toy.start();
    expect(await toy.isRunning()).toBe(true);
    const first = pid();
    await toy.start();
    await toy.reload();
    await expect.poll(answer).toBe('1');
    expect(pid()).toBe(first);
    await toy.stop();
    await toy.start();
    expect(pid()).not.toBe(first);
    expect(await answer()).toBe('0');
    await toy.stop();
    expect([await toy.isRunning(), existsSync(markFile())]).toEqual([false, false]);
    expect(readFileSync(join(directory, 'toy.log'), 'utf8')).toBe('serving\nserving\n');
  });

  it('is started by a reload if it does not run', async () => {
    const toy = daemon();
    await toy.reload();
    expect(await toy.isRunning()).toBe(true);
  });

  it('is started again when it dies, also several times', async () => {
    const toy = daemon();
    await toy.start();
    for (let i = 0; i < 2; i++) {
      const before = pid();
      process.kill(before, 'SIGKILL');
      await expect.poll(async () => (await toy.isRunning()) && pid() !== before).toBe(true);
    }
  });

  it('stays down when it was stopped', async () => {
    const toy = daemon();
    await toy.start();
    await toy.stop();
    await pause(1_200);
    expect(await toy.isRunning()).toBe(false);
  });

  it('that is halted ends as quickly as any other', async () => {
    const toy = daemon();
    await toy.start();
    const mark = readMark(markFile())!;
    process.kill(mark.pid, 'SIGSTOP');
    const kill = vi.spyOn(process, 'kill');
    onTestFinished(() => kill.mockRestore());
    await toy.close();
    expect([isAlive(mark), existsSync(markFile())]).toEqual([false, false]);
    expect(kill.mock.calls.map(([, signal]) => signal)).not.toContain('SIGKILL');
  });

  it('that ends at once is an error with its last words', async () => {
    const toy = daemon({ command: ['/bin/sh', '-c', 'echo the disk is full >&2; exit 1'] });
    await expect(toy.start()).rejects.toThrow(/^toy does not run\. It said last \(.*toy\.log\): the disk is full$/);
    await toy.stop();
  });

  it('that does not exist is an error', async () => {
    const toy = daemon({ command: ['/nonexistent/program'] });
    await expect(toy.start()).rejects.toThrow(/toy does not run.*nonexistent/);
    await toy.stop();
  });

  it('of a muster that was killed is taken over, and watched', async () => {
    const toy = makeDaemon(specFor(), { how: 'process', log, directory });
    await toy.start();
    const before = pid();
    // The first one is forgotten without being told, as by a kill.
    const next = daemon();
    await next.start();
    expect([pid(), await next.isRunning()]).toEqual([before, true]);
    await next.stop();
    expect(await answer()).toBeUndefined();
    await toy.stop();
  });

  it('of a muster that was killed is kept while its former workers answer now and then', async () => {
    const toy = makeDaemon(specFor(), { how: 'process', log, directory });
    await toy.start();
    const before = pid();
    let asked = 0;
    const next = daemon({ ready: async () => ++asked > 1 && (await answer()) !== undefined });
    await next.start();
    expect([pid(), await next.isRunning()]).toEqual([before, true]);
    await next.stop();
    await toy.stop();
  });

  it('of a muster that was killed is replaced if it hangs', async () => {
    const toy = makeDaemon(specFor(), { how: 'process', log, directory });
    await toy.start();
    const before = readMark(markFile())!;
    process.kill(before.pid, 'SIGSTOP');
    const next = daemon();
    await next.resume();
    expect([isAlive(before), await next.isRunning()]).toEqual([false, true]);
    await next.stop();
    await toy.stop();
  });

  it('of a muster that was killed is ended if it would be started in another way now', async () => {
    const toy = makeDaemon(specFor(), { how: 'process', log, directory });
    await toy.start();
    const before = readMark(markFile())!;
    const next = daemon({ command: [process.execPath, '-e', server, socket, 'other'] });
    await next.start();
    expect([isAlive(before), await next.isRunning()]).toEqual([false, true]);
    await next.stop();
    await toy.stop();
  });

  it('is not mistaken for another one that has its number now', async () => {
    const other = spawn('sleep', ['60']);
    writeFileSync(markFile(), `${other.pid} (toy) S ${'0 '.repeat(18)}1 0\n`);
    const toy = daemon();
    await toy.start();
    expect(pid()).not.toBe(other.pid);
    await toy.stop();
    expect(other.exitCode).toBeNull();
    other.kill();
  });

  it('takes what is asked of it in turn', async () => {
    const toy = daemon();
    await Promise.all([toy.start(), toy.stop(), toy.start(), toy.reload()]);
    expect(await toy.isRunning()).toBe(true);
  });
});

describe('the kernel’s line on a process', () => {
  it.each([
    ['7 (a) S 1 7 7 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 4711 99', { pid: 7, startTime: '4711' }],
    ['7 (a ) (b) c) S 1 7 7 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 4711 99', { pid: 7, startTime: '4711' }],
    ['', undefined],
    ['7 (a) S 1', undefined],
    ['x (a) S 1 7 7 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 4711 99', undefined],
  ])('%j', (line, expected) => expect(parseMark(line)).toEqual(expected));
});
