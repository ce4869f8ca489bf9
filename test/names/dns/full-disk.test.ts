import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Site } from './site.ts';

let site: Site;
let directory: string;
beforeAll(async () => {
  site = await Site.start();
  directory = join(site.data, 'dns');
  await site.server.stop();
  mkdirSync(directory, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=0755', 'tmpfs', directory]);
  await site.startMuster();
  await site.nodes({ n1: { ip: '10.77.1.1' } });
  await site.server.ok('POST', '/services/dns');
});
afterAll(async () => {
  await site.server.stop();
  execFileSync('umount', [directory]);
  rmSync(site.data, { recursive: true, force: true });
});

const filler = (): string => join(directory, 'filler');

/** Takes all room but for so many bytes. */
function fill(left: number): void {
  const file = openSync(filler(), 'w');
  const chunk = Buffer.alloc(4_096);
  try {
    for (;;) writeSync(file, chunk);
  } catch {
    closeSync(file);
  }
  if (left > 0) execFileSync('truncate', ['-s', `-${left}`, filler()]);
}

const names = Array.from({ length: 2_000 }, (_, i) => `f${i}`);
const nodes = Object.fromEntries(
  names.map((name, i) => [name, { ip: `10.77.${20 + Math.floor(i / 200)}.${(i % 200) + 1}` }]),
);
const present = (): number => site.zone('cluster.test').filter((line) => /^f\d+\./.test(line)).length;

// The first to meet it is the ledger, or in the middle of the work named with its journals; of removals always named.
it.each([
  [0, /cannot be written \(ENOSPC\)/],
  [150_000, /cannot be written \(ENOSPC\)|SERVFAIL/],
])(
  'with %i bytes left nodes are not added: the error says so, what was served is served, repeating works',
  async (left, message) => {
    await site.nodes(nodes);
    fill(left);
    const added = await site.server.call('POST', '/nodes/f0-f1999/dns');
    expect([added.status, added.json.error[0]]).toEqual([503, expect.stringMatching(message)]);
    expect(site.dig('n1.cluster.test')).toEqual(['10.77.1.1']);
    rmSync(filler());
    await site.server.ok('POST', '/nodes/f0-f1999/dns');
    expect(present()).toBe(2_000);
    fill(left);
    const removed = await site.server.call('DELETE', '/nodes/f0-f1999/dns');
    expect([removed.status, removed.json.error[0]]).toEqual([
      503,
      expect.stringMatching(/has not made the change: zone .*: SERVFAIL/),
    ]);
    rmSync(filler());
    await site.server.ok('DELETE', '/nodes/f0-f1999/dns');
    expect(present()).toBe(0);
    expect(site.dig('n1.cluster.test')).toEqual(['10.77.1.1']);
  },
);
