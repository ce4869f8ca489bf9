import { rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { during, refusal } from './small-image.ts';
import { contents, inMemory, steps, workOf } from './steps.ts';

vi.setConfig({ testTimeout: 300_000 });

/** Leaves so many bytes free. */
function fill(top: string, free: number): void {
  const filler = join(top, 'filler');
  rmSync(filler, { force: true });
  const { bavail, bsize } = statfsSync(top);
  writeFileSync(filler, Buffer.alloc(bavail * bsize));
  truncateSync(filler, bavail * bsize - free);
}

/** What only moves files and makes room works on a full disk. */
const frugal = ['removal', 'removal beside files of others'];

it.each(steps)(
  '$name on a disk that becomes full says so and changes nothing; with more room it works',
  async (step) => {
    const top = inMemory(24);
    const job = await step.prepare(top);
    const work = await workOf(step);
    const before = contents(top);
    let refused = 0;
    for (let free = 0; ; free = Math.max(16_384, free * 4)) {
      fill(top, free);
      const doing = during((task) => work(job, task));
      const isDone = await doing.then(
        () => true,
        () => false,
      );
      if (isDone) break;
      refused++;
      expect(await refusal(doing)).toMatch(/no space left|out of space/i);
      expect(contents(top), `with ${free} bytes free`).toEqual(before);
    }
    expect(refused > 0).toBe(!frugal.includes(step.name));
  },
);
