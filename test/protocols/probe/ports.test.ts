import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('a shortage of files on this machine is not taken for silence of the other', async () => {
  const limited = 'ulimit -n 150; exec "$@"';
  const { stdout } = await promisify(execFile)('sh', [
    '-c',
    limited,
    'sh',
    process.execPath,
    join(import.meta.dirname, 'few-files.ts'),
  ]);
  expect(JSON.parse(stdout)).toEqual({
    open: 500,
    without: 'Fault: this server cannot open another connection (EMFILE).',
  });
});
