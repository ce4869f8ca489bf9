import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { exitOf } from '../harness/server.ts';

const runner = join(import.meta.dirname, '../../scripts/test.ts');
let directory = '';
let run: ChildProcess | undefined;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-runner-'));
});
afterEach(() => {
  run?.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

/** Leaves a folder, a mount, a network of its own and a process behind that is nobody's child, tells where, and ends in that way. */
const careless = (end: string): string => `
  import { execFileSync, spawn } from 'node:child_process';
  import { mkdtempSync, statSync, writeFileSync } from 'node:fs';
  import { tmpdir } from 'node:os';
  test('leaves things behind', async () => {
    const folder = mkdtempSync(tmpdir() + '/muster-test-');
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', folder]);
    execFileSync('ip', ['netns', 'add', 'careless']);
    execFileSync('ip', ['-n', 'careless', 'link', 'add', 'left0', 'type', 'veth', 'peer', 'name', 'left1']);
    const orphan = spawn('sh', ['-c', 'sleep 0.2 & echo $!'], { stdio: ['ignore', 'pipe', 'ignore'] });
    let pid = '';
    for await (const chunk of orphan.stdout) pid += chunk;
    // Somebody has taken care of it.
    await expect.poll(() => { try { process.kill(Number(pid), 0); return 'there'; } catch { return 'gone'; } }).toBe('gone');
    spawn('ip', ['netns', 'exec', 'careless', 'setsid', 'sh', '-c', 'while :; do sleep 1; done'], { detached: true, stdio: 'ignore' }).unref();
    await expect.poll(() => execFileSync('ip', ['netns', 'pids', 'careless'], { encoding: 'utf8' })).not.toBe('');
    writeFileSync('${directory}/left', JSON.stringify({ scratch: tmpdir(), folder, network: statSync('/run/netns/careless').ino }));
    ${end}
  }, 120_000);`;

interface Left {
  readonly scratch: string;
  readonly folder: string;
  readonly network: number;
}

const left = (): Left => JSON.parse(readFileSync(join(directory, 'left'), 'utf8')) as Left;

/** Processes that have been started below the run, wherever they are now. */
function processesOf({ scratch }: Left): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/environ`, 'utf8').includes(`TMPDIR=${scratch}\0`);
    } catch {
      return false;
    }
  });
}

const networks = (): string => spawnSync('lsns', ['-rno', 'NS', '-t', 'net'], { encoding: 'utf8' }).stdout;

function start(end: string): { child: ChildProcess; output: () => string } {
  writeFileSync(join(directory, 'careless.test.mjs'), careless(end));
  return launch(['--root', directory, '--globals']);
}

function launch(words: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  let text = '';
  const child = spawn(process.execPath, [runner, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, MUSTER_INSTALL: 'no', ...environment },
  });
  run = child;
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return { child, output: () => text };
}

async function expectNothingLeft(): Promise<void> {
  const what = left();
  expect(what.folder.startsWith(`${what.scratch}/muster-test-`)).toBe(true);
  await expect
    .poll(
      () => ({
        scratch: existsSync(what.scratch),
        processes: processesOf(what),
        network: networks().split('\n').includes(String(what.network)),
      }),
      { timeout: 30_000 },
    )
    .toEqual({ scratch: false, processes: [], network: false });
  expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(what.scratch);
}

it.each([
  ['fails', "throw new Error('a failure');", 'a failure'],
  ['crashes', 'process.abort();', 'careless.test.mjs'],
  ['is killed', "process.kill(process.pid, 'SIGKILL'); await new Promise(() => {});", 'careless.test.mjs'],
])('leaves nothing behind when a test %s', async (_how, end, told) => {
  const { child, output } = start(end);
  expect(await exitOf(child)).toBe(1);
  expect(output()).toContain(told);
  await expectNothingLeft();
});

it.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const)(
  'leaves nothing behind when it gets %s in the middle',
  async (signal) => {
    const { child } = start('await new Promise(() => {});');
    // It is there before all of it is written.
    const hasLeft = (): boolean =>
      existsSync(join(directory, 'left')) && readFileSync(join(directory, 'left'), 'utf8').endsWith('}');
    await expect.poll(hasLeft, { timeout: 60_000 }).toBe(true);
    expect(processesOf(left())).not.toEqual([]);
    child.kill(signal);
    await exitOf(child);
    await expectNothingLeft();
  },
);

it('runs failed files once more, alone, and keeps what passed only then', async () => {
  const environment = { MUSTER_TEST_FAILS_ONCE: join(directory, 'mark'), MUSTER_TEST_RESULTS: directory };
  const { child, output } = launch(['test/suite/once'], environment);
  expect(await exitOf(child)).toBe(0);
  expect(output()).toContain('passed alone, failed beside others');
  const { files } = JSON.parse(readFileSync(join(directory, 'flaky.json'), 'utf8'));
  expect(files).toMatchObject([
    { file: 'test/suite/once.test.ts', tests: [{ name: expect.stringMatching(/^fails once/) }] },
  ]);
});

it('no test uses the addresses of npm run lab', () => {
  const tests = join(import.meta.dirname, '..');
  const files = readdirSync(tests, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const prefix = /prefix\w*'?[:,]\s*'127\.1[01]'|refix['"], '127\.1[01]'/;
  expect(files.filter((name) => prefix.test(readFileSync(join(tests, name), 'utf8')))).toEqual([]);
});
