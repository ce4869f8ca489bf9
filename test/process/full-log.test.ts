import { spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  truncateSync,
} from 'node:fs';
import type { Agent } from 'node:https';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../harness/processes.ts';
import { type SmallDisk, smallDisk } from '../harness/small-disk.ts';
import {
  agentFor,
  call,
  removeDirectory,
  type Service,
  startService,
  stopService,
  temporaryDirectory,
} from './process.ts';

const directory = temporaryDirectory();
afterAll(() => removeDirectory(directory));

let service: Service;
let agent: Agent;
let number = 0;

async function start(redirection: string, environment: Record<string, string> = {}): Promise<void> {
  const under = ['sh', '-c', `exec "$@" ${redirection}`, 'sh'];
  service = await startService(join(directory, `data${number++}`), { under, environment });
  agent = agentFor(service);
}

/** A request that makes a line in the log. */
async function refused(word = 'x'): Promise<void> {
  const { status } = await call(service, agent, 'GET', `/muster/nodes/${word}`);
  expect(status).toBe(401);
}

function stop(): Promise<number | null> {
  agent.destroy();
  return stopService(service);
}

interface Line {
  readonly range?: string;
  readonly lost?: number;
  readonly i?: number;
}

/** Without those of which a full disk took only the beginning. */
const wholeLines = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line);

describe('the server goes on and ends in order when standard error', () => {
  test('is always full', async () => {
    await start('2>/dev/full');
    for (let i = 0; i < 20; i++) await refused();
    expect(await stop()).toBe(0);
  });

  test('is a pipe whose reader has gone', async () => {
    const fifo = makeFifo();
    const reader = openSync(fifo, constants.O_RDWR);
    await start(`2>${fifo}`);
    closeSync(reader);
    for (let i = 0; i < 20; i++) await refused();
    expect(await stop()).toBe(0);
  });

  test('is a pipe whose reader hangs, and its lines come when it reads again', async () => {
    const fifo = makeFifo();
    const reader = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
    try {
      await start(`2>${fifo}`);
      for (let i = 0; i < 150; i++) await refused(`x${i}`.padEnd(1_000, 'x'));
      let text = '';
      await until(() => (text += readNow(reader)).includes('x149x'));
      expect(text.split('\n').filter((line) => line.includes('"status":401'))).toHaveLength(150);
      for (let i = 0; i < 150; i++) await refused(`y${i}`.padEnd(1_000, 'y'));
      expect(await stop()).toBe(0);
    } finally {
      closeSync(reader);
    }
  });

  test('is a socket whose reader hangs', async () => {
    const data = join(directory, `data${number++}`);
    // Node's pipes are sockets.
    service = await startService(data);
    agent = agentFor(service);
    service.process.stderr!.pause();
    for (let i = 0; i < 500; i++) await refused('x'.repeat(2_000));
    process.kill(service.process.pid!, 'SIGTERM');
    await until(() => service.process.exitCode !== null);
    expect(service.process.exitCode).toBe(0);
    service.process.stderr!.resume();
    agent.destroy();
  });

  test('and standard output and input are closed', async () => {
    const child = startAside(`<&- >&- 2>&-`);
    await answers(child.socket);
    child.process.kill('SIGTERM');
    expect(await child.exited).toBe(0);
  });

  test('and standard output are full', async () => {
    const child = startAside(`>/dev/full 2>/dev/full`);
    await answers(child.socket);
    child.process.kill('SIGTERM');
    expect(await child.exited).toBe(0);
  });
});

describe('a log on a disk that was full', () => {
  let disk: SmallDisk;
  beforeAll(() => {
    disk = smallDisk(join(directory, 'disk'), 64);
  });
  afterAll(() => disk.remove());
  afterEach(async () => {
    expect(await stop()).toBe(0);
  });

  test.each([
    ['standard error', (file: string) => start(`2>>${file}`)],
    ['a log file', (file: string) => start('', { MUSTER_LOG_FILE: file })],
  ])('says first how many lines were lost: %s', async (_name, begin) => {
    const file = join(disk.directory, `log${number}`);
    await begin(file);
    await refused('before');
    await until(() => readFileSync(file, 'utf8').includes('before'));
    disk.fill();
    for (let i = 0; i < 40; i++) await refused(`lost${i}`);
    disk.makeRoom();
    await refused('after');
    await until(() => readFileSync(file, 'utf8').includes('"after"'));
    const lines = wholeLines(readFileSync(file, 'utf8'));
    const written = lines.filter(({ range }) => range?.startsWith('lost'));
    const notes = lines.filter(({ lost }) => lost !== undefined);
    expect(notes).toEqual([
      expect.objectContaining({ lost: 40 - written.length, msg: expect.stringMatching(/were lost/) }),
    ]);
    expect(lines.at(-1)).toMatchObject({ range: 'after' });
  });
});

describe('a log file', () => {
  afterEach(async () => {
    expect(await stop()).toBe(0);
  });

  test('that was moved or removed, even with its directory, is begun again', async () => {
    const file = join(directory, 'logs', 'below', 'log');
    await start('', { MUSTER_LOG_FILE: file });
    await refused('first');
    await until(() => readFileSync(file, 'utf8').includes('first'));
    renameSync(file, `${file}-moved`);
    await untilLogged(file);
    expect(readFileSync(`${file}-moved`, 'utf8')).toContain('first');
    rmSync(join(directory, 'logs'), { recursive: true });
    await untilLogged(file);
  });

  test('that was emptied goes on at its beginning', async () => {
    const file = join(directory, 'emptied');
    await start('', { MUSTER_LOG_FILE: file });
    await refused('first');
    await until(() => readFileSync(file, 'utf8').includes('first'));
    truncateSync(file);
    await refused('second');
    await until(() => readFileSync(file, 'utf8').includes('second'));
    expect(readFileSync(file, 'utf8')[0]).toBe('{');
  });

  test('that cannot be opened at the start does not keep the server from starting', async () => {
    const file = '/proc/nowhere/log';
    await start('', { MUSTER_LOG_FILE: file });
    await refused();
    expect(service.log()).toContain(`The log file ${file} cannot be written`);
  });
});

test('memory is bounded while nobody reads, and what was lost is counted', async () => {
  const fifo = makeFifo();
  const reader = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
  const module = join(import.meta.dirname, '../../src/core/log.ts');
  const count = 60_000;
  const script = `
    import { createLog } from ${JSON.stringify(module)};
    const log = createLog('info');
    const before = process.memoryUsage().rss;
    for (let i = 0; i < ${count}; i++) {
      log.info({ i }, 'x'.repeat(1000));
      if (i % 100 === 0) await new Promise(setImmediate);
    }
    process.on('SIGTERM', () => log.info('last'));
    console.log(process.memoryUsage().rss - before < 150e6);
    setInterval(() => {}, 1000);`;
  const child = spawn('sh', ['-c', `exec "$0" --input-type=module -e "$1" 2>${fifo}`, process.execPath, script], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const bounded = await new Promise<string>((resolve) => child.stdout.once('data', (text) => resolve(String(text))));
    expect(bounded.trim()).toBe('true');
    child.kill('SIGTERM');
    let text = '';
    while (!text.includes('"last"')) {
      text += readNow(reader);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const lines = wholeLines(text);
    const lost = lines.reduce((sum, line) => sum + (line.lost ?? 0), 0);
    expect(lost).toBeGreaterThan(0);
    expect(lines.filter(({ i }) => i !== undefined).length + lost).toBe(count);
  } finally {
    child.kill('SIGKILL');
    closeSync(reader);
  }
});

/** Lines come to the file again, within a second or so. */
async function untilLogged(file: string): Promise<void> {
  while (!existsSync(file)) await refused('again');
}

function makeFifo(): string {
  const fifo = join(directory, `fifo${number++}`);
  spawnSync('mkfifo', [fifo]);
  return fifo;
}

function readNow(reader: number): string {
  const bytes = Buffer.alloc(65_536);
  try {
    return bytes.toString('utf8', 0, readSync(reader, bytes));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    return '';
  }
}

/** A server whose output nobody can read. */
function startAside(redirection: string) {
  const data = join(directory, `data${number++}`);
  const main = join(import.meta.dirname, '../../dist/main.js');
  const args = [
    '-c',
    `exec "$@" ${redirection}`,
    'sh',
    process.execPath,
    main,
    '--data',
    data,
    '--listen',
    '127.0.0.1:0',
  ];
  const environment = { MUSTER_NEW_DATABASE: 'bare', MUSTER_DNS_DAEMON: 'none' };
  const env = { ...process.env, ...environment, MUSTER_DHCP_DAEMON: 'none', MUSTER_HOSTS_FILE: join(data, 'hosts') };
  const child = spawn('sh', args, { env, stdio: 'ignore' });
  const exited = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  return { process: child, exited, socket: join(data, 'muster.sock') };
}

/** The file of a socket is there a moment before the server accepts at it. */
async function answers(socketPath: string): Promise<void> {
  const status = () =>
    new Promise((resolve) => {
      request({ socketPath, path: '/muster/health' }, (response) => resolve(response.resume().statusCode))
        .once('error', (error) => resolve(error.message))
        .end();
    });
  await expect.poll(status, { timeout: 120_000 }).toBe(200);
}
