import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fileLeases, parseLeases } from '../../../src/names/dhcp/leases.ts';

const header4 =
  'address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-leases-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it('a lease file is read by its header; a last line that was cut off is not', () => {
  const lines = [
    header4,
    '10.1.0.5,52:54:00:00:00:05,01:52,3600,1700000000,167837696,0,0,a&#x2cb,0,',
    '10.1.0.6,52:54:00:00:00:06,,3600,17',
  ];
  expect(parseLeases(lines.join('\n'))).toEqual([
    {
      address: '10.1.0.5',
      mac: '52:54:00:00:00:05',
      hostname: 'a,b',
      expires: 1_700_000_000,
      subnet: 167_837_696,
      state: 0,
    },
  ]);
});

it('the last line of an address counts, in the order in which Kea writes its files', () => {
  const file = join(directory, 'leases4.csv');
  const line = (mac: string, lifetime = 3600): string => `10.1.0.5,${mac},,${lifetime},1700000000,1,0,0,,0,`;
  writeFileSync(`${file}.2`, [header4, line('52:54:00:00:00:01')].join('\n'));
  writeFileSync(file, [header4, line('52:54:00:00:00:02'), line('52:54:00:00:00:03'), ''].join('\n'));
  expect(fileLeases(file).map(({ mac }) => mac)).toEqual(['52:54:00:00:00:03']);
  writeFileSync(file, [header4, line('52:54:00:00:00:03', 0), ''].join('\n'));
  expect(fileLeases(file).map(({ expires }) => expires)).toEqual([0]);
});

it.each(['', 'x', '\n\n', 'a,b\nc', `${header4}\n,,,,,,,,,,`])('a file %j gives no lease in force', (content) => {
  expect(parseLeases(content).filter(({ address, expires }) => address !== '' && expires > 0)).toEqual([]);
});
