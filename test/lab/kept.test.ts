import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { keptOnce } from './kept.ts';

it('what several need at once is made once, and again only if that failed', async () => {
  const name = `test-of-kept-${process.pid}`;
  let tries = 0;
  const make = async (directory: string): Promise<string> => {
    if (++tries === 1) throw new Error('the first one fails');
    mkdirSync(join(directory, 'made'));
    await pause(50);
    writeFileSync(join(directory, 'made/number'), String(tries));
    return join(directory, 'made');
  };
  await expect(keptOnce(name, make)).rejects.toThrow('the first one fails');
  const paths = await Promise.all([1, 2, 3].map(() => keptOnce(name, make)));
  onTestFinished(() => {
    for (const path of [paths[0]!, `${paths[0]}.lock`]) rmSync(path, { recursive: true });
  });
  expect(new Set(paths).size).toBe(1);
  expect(readFileSync(join(paths[0]!, 'number'), 'utf8')).toBe('2');
});
