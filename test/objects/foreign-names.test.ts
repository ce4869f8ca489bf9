import { expect, it } from 'vitest';
import { claimsOf, foreignNames } from '../../src/objects/claims.ts';
import { effectiveReader } from '../../src/objects/effective.ts';
import { snapshotOf } from '../harness/snapshot.ts';

const many = 20_000;
const names = Array.from({ length: many }, (_, i) => `n${i}`);
const snapshot = snapshotOf({
  site: [{ key: 'domain', value: 'example' }],
  nodelist: names.map((node) => ({ node, groups: 'all' })),
  hosts: names.map((node, i) => ({ node, hostnames: `${node}.d${i}.example ${node}.elsewhere` })),
  networks: names.map((node, i) => ({
    netname: node,
    net: `10.${i >> 8}.${i & 255}.0`,
    mask: '255.255.255.0',
    domain: `d${i}.example`,
  })),
});

it('names outside the cluster are told in a cluster of thousands of domains, without a look at each of them', () => {
  for (const node of names) expect(foreignNames(snapshot, node)).toEqual(new Set([`${node}.elsewhere`]));
});

it('a name is that of the host in the longest domain it lies in', () => {
  const claims = [...claimsOf(effectiveReader(snapshot), 'n7').keys()];
  expect(claims).toEqual(['host n7', 'host n7.elsewhere']);
});
