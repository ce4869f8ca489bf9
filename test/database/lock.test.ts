import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { lockDataDirectory } from '../../src/database/lock.ts';

let parent: string;
let data: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'muster-lock-'));
  data = join(parent, 'a', 'data');
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(parent, { recursive: true });
});

/** Another process that holds the lock until it is ended; the garbage collector must not end it earlier. */
async function holder(): Promise<ChildProcess> {
  const script = `import { lockDataDirectory } from ${JSON.stringify(join(import.meta.dirname, '../../src/database/lock.ts'))};
    lockDataDirectory(${JSON.stringify(data)}); gc(); gc(); console.log('locked'); setInterval(() => gc(), 20);`;
  const child = spawn(process.execPath, ['--expose-gc', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

it('creates the directory for its owner only and notes the process id', () => {
  const lock = lockDataDirectory(data);
  expect(statSync(data).mode & 0o777).toBe(0o700);
  expect(readFileSync(join(data, 'pid'), 'utf8')).toBe(`${process.pid}\n`);
  lock.release();
  expect(existsSync(join(data, 'pid'))).toBe(false);
});

it('refuses a second holder, names the directory and the first, and lets it in after release', () => {
  const lock = lockDataDirectory(data);
  expect(() => lockDataDirectory(data)).toThrow(`The data directory ${data} is in use by process ${process.pid}.`);
  lock.release();
  lock.release();
  lockDataDirectory(data).release();
});

it('refuses while another process lives, and needs no cleaning up after it was killed', async () => {
  const child = await holder();
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(() => lockDataDirectory(data)).toThrow(`in use by process ${child.pid}`);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const lock = lockDataDirectory(data);
  expect(readFileSync(join(data, 'pid'), 'utf8')).toBe(`${process.pid}\n`);
  lock.release();
});

it('says so when the directory is none or cannot be made', () => {
  writeFileSync(join(parent, 'file'), '');
  expect(() => lockDataDirectory(join(parent, 'file'))).toThrow(/is not a directory/);
  expect(() => lockDataDirectory(join(parent, 'file', 'data'))).toThrow(/is not a directory/);
  expect(() => lockDataDirectory('/proc/muster')).toThrow(/The data directory \/proc\/muster cannot be used: ENOENT/);
});
