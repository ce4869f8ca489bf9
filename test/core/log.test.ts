import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const module = join(import.meta.dirname, '../../src/core/log.ts');

it('writes JSON lines of the level and above to standard error, even right before exit', () => {
  const script = `import { createLog } from ${JSON.stringify(module)};
    const log = createLog('info'); log.debug('no'); log.warn({ request: 7 }, 'yes'); process.exit(0);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(stdout).toBe('');
  const lines = stderr.trim().split('\n');
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'warn', request: 7, msg: 'yes', time: expect.any(String) });
});
