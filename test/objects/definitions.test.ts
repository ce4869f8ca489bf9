import { expect, it } from 'vitest';
import { objectAttributes, objectExists } from '../../src/objects/definitions.ts';
import { typeNamed } from '../../src/objects/types.ts';
import { snapshotOf } from '../harness/snapshot.ts';

it('thousands of objects that their table is not keyed by are found one by one, without a look at all others', () => {
  const network = typeNamed('network');
  const rows = Array.from({ length: 20_000 }, (_, i) => ({
    netname: `net${i}`,
    net: `10.${i >> 8}.${i & 255}.0`,
    mask: '255.255.255.0',
  }));
  const snapshot = snapshotOf({ networks: rows });
  for (const { netname, net, mask } of rows)
    expect(objectAttributes(snapshot, network, netname)).toEqual({ net, mask });
  expect(objectExists(snapshot, network, 'net20000')).toBe(false);
});
