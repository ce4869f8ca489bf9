import { expect, test } from 'vitest';
import { DiskClaims } from '../../../src/drivers/kvm/disk-claims.ts';
import type { Hypervisor } from '../../../src/drivers/kvm/hypervisor.ts';

/** Nobody asks it: no two of these disks have one name. */
const hypervisor = {} as Hypervisor;
const { signal } = new AbortController();

test('a disk that one request has claimed is free for others when that one is over, however it ends', async () => {
  const claims = new DiskClaims();
  const busy = 'another request is at work on the disk /d/b. Repeat the command when that one is over.';
  await claims.during(async (claim) => {
    await claim(hypervisor, ['/d/a', '/d/b'], signal);
    await claim(hypervisor, ['/d/b'], signal);
    await expect(claims.during(async (other) => other(hypervisor, ['/d/c', '/d/b'], signal))).rejects.toThrow(busy);
    // Of what was refused nothing stays claimed.
    await claims.during(async (other) => other(hypervisor, ['/d/c'], signal));
  });
  await expect(
    claims.during(async (claim) => {
      await claim(hypervisor, ['/d/b'], signal);
      throw new Error('failed');
    }),
  ).rejects.toThrow('failed');
  await claims.during(async (claim) => claim(hypervisor, ['/d/a', '/d/b'], signal));
});
