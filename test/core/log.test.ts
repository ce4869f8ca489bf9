import { spawnSync } from 'node:child_process';
import { closeSync, fstatSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

const module = join(import.meta.dirname, '../../src/core/log.ts');
const directory = mkdtempSync(join(tmpdir(), 'muster-log-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const run = (script: string, options: object = {}) =>
  spawnSync(
    process.execPath,
    ['--input-type=module', '-e', `import { createLog } from ${JSON.stringify(module)};${script}`],
    {
      encoding: 'utf8',
      ...options,
    },
  );

it('writes JSON lines of the level and above to standard error, even right before exit', () => {
  const { stdout, stderr } = run(
    `const log = createLog('info'); log.debug('no'); log.warn({ request: 7 }, 'yes'); process.exit(0);`,
  );
  expect(stdout).toBe('');
  const lines = stderr.trim().split('\n');
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'warn', request: 7, msg: 'yes', time: expect.any(String) });
});

it('puts the priority before each line where standard error is the journal', () => {
  const file = join(directory, 'journal');
  const descriptor = openSync(file, 'w');
  const { dev, ino } = fstatSync(descriptor);
  const env = { ...process.env, JOURNAL_STREAM: `${dev}:${ino}` };
  run(
    `const log = createLog('debug'); for (const level of ['fatal', 'error', 'warn', 'info', 'debug']) log[level]('x');`,
    {
      env,
      stdio: ['ignore', 'ignore', descriptor],
    },
  );
  closeSync(descriptor);
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  expect(lines.map((line) => line.slice(0, 4))).toEqual(['<2>{', '<3>{', '<4>{', '<6>{', '<7>{']);
});

describe('a log file', () => {
  const file = join(directory, 'below', 'log');
  const writing = (path: string, count: number) =>
    `const log = createLog('info', { path: ${JSON.stringify(path)}, size: 1000, kept: 2 });
    for (let i = 0; i < ${count}; i++) { log.info({ i }, 'x'.repeat(300)); await new Promise((done) => setTimeout(done, 5)); }`;

  it('is begun again when it is full, and the latest of the full ones are kept', () => {
    expect(run(writing(file, 40)).stderr).toBe('');
    expect(readdirSync(join(directory, 'below')).sort()).toEqual(['log', 'log.1', 'log.2']);
    const numbers = ['log.2', 'log.1', 'log']
      .flatMap((name) =>
        readFileSync(join(directory, 'below', name), 'utf8')
          .trim()
          .split('\n'),
      )
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { i: number }).i);
    expect(numbers).toEqual(numbers.map((_, at) => 40 - numbers.length + at));
    expect(statSync(`${file}.1`).mode & 0o777).toBe(0o600);
  });

  it('that cannot be written is told and does not end the program', () => {
    const { status, stderr } = run(`${writing('/dev/full', 3)} console.log('goes on');`);
    expect([status, stderr]).toEqual([0, expect.stringContaining('The log file /dev/full cannot be written')]);
  });
});
