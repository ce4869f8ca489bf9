import { execFile, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { builtName } from '../../src/core/home.ts';
import { unbundled } from '../../scripts/build.ts';
import { startServer } from '../harness/server.ts';
import { scratchDirectory } from '../harness/store.ts';

const checkout = join(import.meta.dirname, '../..');
let copy: string;

beforeAll(() => {
  mkdirSync(join(checkout, '.cache'), { recursive: true });
  copy = mkdtempSync(join(checkout, '.cache/build-test-'));
  for (const each of ['src', 'web', 'scripts', 'bin', 'share', 'package.json', 'package-lock.json', 'tsconfig.json'])
    cpSync(join(checkout, each), join(copy, each), { recursive: true });
  symlinkSync(join(checkout, 'node_modules'), join(copy, 'node_modules'));
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

function muster(words: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const env = { PATH: process.env['PATH']!, HOME: copy, ...environment };
  const { stdout, stderr } = spawnSync(join(copy, 'bin/muster'), words, { env, encoding: 'utf8' });
  return stdout + stderr;
}

function change(file: string, from: string, to: string): void {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  expect(text).toContain(from);
  writeFileSync(path, text.replace(from, to));
  // Whatever the resolution of times here.
  const soon = Date.now() / 1_000 + 5;
  utimesSync(path, soon, soon);
}

const unknown = 'There is no command';

it('a changed source is built again, and the build before stays for those who run it', () => {
  expect(muster(['nosuch'])).toContain(unknown);
  const before = realpathSync(join(copy, 'dist'));
  change('src/cli/main.ts', unknown, 'CHANGED TEXT');
  expect(muster(['nosuch'])).toContain('CHANGED TEXT');
  expect(realpathSync(join(copy, 'dist'))).not.toBe(before);
  expect(readFileSync(join(before, 'cli-main.js'), 'utf8')).toContain(unknown);
  change('src/cli/main.ts', 'CHANGED TEXT', unknown);
});

it('a build can be read by all users, and is the same where several make it at once', async () => {
  rmSync(join(copy, '.cache/builds'), { recursive: true });
  const build = `umask 077; exec ${process.execPath} ${join(copy, 'scripts/build.ts')}`;
  await Promise.all([1, 2].map(() => promisify(execFile)('sh', ['-c', build])));
  const made = realpathSync(join(copy, 'dist'));
  const modes = [made, join(made, 'cli-main.js')].map((file) => statSync(file).mode & 0o777);
  expect(modes).toEqual([0o755, 0o644]);
  expect(readdirSync(join(copy, '.cache/builds'))).toHaveLength(1);
});

it('MUSTER_SOURCES=1 runs the sources', () => {
  change('src/cli/main.ts', unknown, 'FROM THE SOURCES');
  expect(muster(['nosuch'], { MUSTER_SOURCES: '1' })).toContain('FROM THE SOURCES');
  change('src/cli/main.ts', 'FROM THE SOURCES', unknown);
});

it('a stack trace of the build names source and line', () => {
  const crash = "if (process.argv.includes('--crash')) throw new Error('crashed');";
  change('src/main.ts', 'const program = new Command', `${crash}\nconst program = new Command`);
  const lines = readFileSync(join(copy, 'src/main.ts'), 'utf8').split('\n');
  expect(muster(['--crash'])).toContain(`at src/main.ts:${lines.indexOf(crash) + 1}:`);
});

it('every module that a process or thread starts with is a file of the build', () => {
  const sources = readdirSync(join(checkout, 'src'), { recursive: true, encoding: 'utf8' });
  const started = sources
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [...readFileSync(join(checkout, 'src', file), 'utf8').matchAll(/programFile\('([^']+)'\)/g)])
    .map(([, module]) => module!);
  expect(started).toContain('database/sqlite/worker');
  for (const module of started) expect(existsSync(join(checkout, 'dist', builtName(module)))).toBe(true);
});

it('the build runs without node_modules, but for the packages with native code', async () => {
  // Outside of the checkout, whose node_modules would be found.
  const installed = scratchDirectory();
  cpSync(realpathSync(join(checkout, 'dist')), join(installed, 'dist'), { recursive: true });
  for (const each of ['share', 'package.json'])
    cpSync(join(checkout, each), join(installed, each), { recursive: true });
  for (const each of unbundled)
    cpSync(join(checkout, 'node_modules', each), join(installed, 'node_modules', each), { recursive: true });
  const server = await startServer({ main: join(installed, 'dist/main.js') });
  expect(await server.ok('GET', '/nodes')).toEqual([]);
  await server.stop();
});
