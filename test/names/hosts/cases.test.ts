import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Row } from '../../../src/database/tables.ts';
import { Hosts, type HostsOptions } from '../../../src/names/hosts/hosts.ts';
import cases from '../../data/makehosts-cases.json' with { type: 'json' };
import { snapshotOf } from '../../harness/snapshot.ts';

interface Case {
  readonly name: string;
  readonly tables: Readonly<Record<string, readonly Row[]>>;
  readonly range?: string;
  readonly options?: Partial<HostsOptions>;
  readonly before: string;
  readonly after: string;
  readonly warnings?: readonly string[];
  readonly errors?: readonly string[];
}

const directory = mkdtempSync(join(tmpdir(), 'muster-test-'));
afterAll(() => rmSync(directory, { recursive: true }));

describe('writes the hosts file as the reference system does', () => {
  it.each((cases as unknown as Case[]).map((each) => [each.name, each] as const))('%s', async (_name, given) => {
    const hostsFile = join(directory, 'hosts');
    writeFileSync(hostsFile, given.before);
    const hosts = new Hosts({ hostsFile, lookup: false }, dirname(hostsFile));
    const options = { order: undefined, longOthers: false, fresh: false, ...given.options };
    const done = hosts.write(snapshotOf(given.tables), given.range?.split(','), options);
    if (given.errors) await expect(done).rejects.toMatchObject({ sentences: given.errors });
    else expect(await done).toEqual(given.warnings ?? []);
    expect(readFileSync(hostsFile, 'utf8')).toBe(given.after);
  });
});
