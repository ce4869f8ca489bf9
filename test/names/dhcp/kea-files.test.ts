import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { installedHooks } from '../../../src/names/dhcp/kea-files.ts';

it.each<[present: string[], database: boolean, expected: string[]]>([
  [['libdhcp_lease_cmds.so', 'libdhcp_stat_cmds.so'], false, ['libdhcp_lease_cmds.so']],
  [['libdhcp_lease_cmds.so'], true, ['libdhcp_lease_cmds.so']],
  // From version 2.7 on Kea has its reader of PostgreSQL in a library.
  [
    ['libdhcp_pgsql.so', 'libdhcp_host_cmds.so', 'libdhcp_lease_cmds.so'],
    true,
    ['libdhcp_lease_cmds.so', 'libdhcp_host_cmds.so', 'libdhcp_pgsql.so'],
  ],
  [['libdhcp_pgsql.so', 'libdhcp_lease_cmds.so'], false, ['libdhcp_lease_cmds.so']],
])('of the libraries %j, with reservations in PostgreSQL %s, Kea loads %j', (present, database, expected) => {
  const root = mkdtempSync(join(tmpdir(), 'muster-hooks-'));
  try {
    const directory = join(root, 'kea/hooks');
    mkdirSync(directory, { recursive: true });
    for (const name of present) writeFileSync(join(directory, name), '');
    const found = installedHooks(database, [join(root, 'nowhere'), directory]);
    expect(found.map((file) => basename(file))).toEqual(expected);
  } finally {
    rmSync(root, { recursive: true });
  }
});
