import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

const runner = join(import.meta.dirname, '../../scripts/test.ts');
const directory = mkdtempSync(join(tmpdir(), 'muster-runner-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Tells where its folder is and whether it lives, leaves a process and a folder behind, and fails. */
const careless = `
  import { spawn } from 'node:child_process';
  import { mkdtempSync, writeFileSync } from 'node:fs';
  import { tmpdir } from 'node:os';
  test('leaves things behind', async () => {
    const folder = mkdtempSync(tmpdir() + '/muster-test-');
    writeFileSync('${directory}/folder', folder);
    spawn('sh', ['-c', 'echo there > ${directory}/alive; sleep 1; while echo more >> ${directory}/alive; do sleep 0.1; done'], {
      detached: true, stdio: 'ignore',
    }).unref();
    const orphan = spawn('sh', ['-c', 'sleep 0.2 & echo $!'], { stdio: ['ignore', 'pipe', 'ignore'] });
    let pid = '';
    for await (const chunk of orphan.stdout) pid += chunk;
    // Somebody has taken care of it.
    await expect.poll(() => { try { process.kill(Number(pid), 0); return 'there'; } catch { return 'gone'; } }, { timeout: 10_000 }).toBe('gone');
    writeFileSync('${directory}/orphan', 'gone');
    throw new Error('a failure');
  });`;

it('leaves no process and no folder of the tests behind, also when they fail', { timeout: 120_000 }, async () => {
  writeFileSync(join(directory, 'careless.test.mjs'), careless);
  const { status, stdout, stderr } = spawnSync(process.execPath, [runner, '--root', directory, '--globals'], {
    encoding: 'utf8',
    env: { ...process.env, MUSTER_INSTALL: 'no' },
  });
  expect(stdout + stderr).toContain('a failure');
  expect(status).toBe(1);
  expect(readFileSync(join(directory, 'orphan'), 'utf8')).toBe('gone');
  expect(existsSync(readFileSync(join(directory, 'folder'), 'utf8'))).toBe(false);
  const alive = () => readFileSync(join(directory, 'alive'), 'utf8');
  expect(alive()).toContain('there');
  const before = alive();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(alive()).toBe(before);
});
