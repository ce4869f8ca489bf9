import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeChanges, encodeChanges, revert, type RowChange } from '../../src/database/changeset.ts';
import { Snapshot } from '../../src/database/snapshot.ts';
import { snapshotTables } from '../../src/database/tables.ts';
import { clusterEdits, contents, draftOf, withEdits } from '../harness/random-changes.ts';

const all = (snapshot: Snapshot) => contents(snapshot, snapshotTables);

describe('random change sets', () => {
  test('applied and then taken back leave the database as it was', () => {
    fc.assert(
      fc.property(clusterEdits, clusterEdits, (first, second) => {
        const base = withEdits(Snapshot.empty, first);
        const changes = draftOf(base, second).changes();
        const back = base.apply(changes, 2).apply(revert(changes), 3);
        expect(all(back)).toEqual(all(base));
      }),
      { numRuns: 300 },
    );
  });

  test('survive the journal: decoded on the same state they say the same', () => {
    fc.assert(
      fc.property(clusterEdits, clusterEdits, (first, second) => {
        const base = withEdits(Snapshot.empty, first);
        const changes = draftOf(base, second).changes();
        const text = JSON.stringify(encodeChanges(changes));
        const decoded = decodeChanges(JSON.parse(text), (table, key) => base.get(table, key));
        expect(all(base.apply(decoded, 2))).toEqual(all(base.apply(changes, 2)));
        expect(new Set(decoded.map((change) => JSON.stringify([change.table, change.key])))).toEqual(
          new Set(changes.map((change) => JSON.stringify([change.table, change.key]))),
        );
      }),
      { numRuns: 300 },
    );
  });
});

const row = (before: RowChange['before'], after: RowChange['after']): RowChange => ({
  table: 'nodehm',
  key: 'n1',
  before,
  after,
});

test.each([
  ['a new row with all its columns', row(undefined, { node: 'n1', mgt: 'ipmi' }), [null, { node: 'n1', mgt: 'ipmi' }]],
  ['a removed row with what it held', row({ node: 'n1', mgt: 'ipmi' }, undefined), [{ node: 'n1', mgt: 'ipmi' }, null]],
  [
    'of a changed row only what changed',
    row({ node: 'n1', mgt: 'ipmi', cons: 'x' }, { node: 'n1', mgt: 'kvm', cons: 'x' }),
    [{ mgt: 'ipmi' }, { mgt: 'kvm' }],
  ],
  ['a column that is new', row({ node: 'n1' }, { node: 'n1', cons: 'x' }), [{ cons: null }, { cons: 'x' }]],
  ['a column that is gone', row({ node: 'n1', cons: 'x' }, { node: 'n1' }), [{ cons: 'x' }, { cons: null }]],
  [
    'a cleared column as empty text',
    row({ node: 'n1', cons: 'x' }, { node: 'n1', cons: '' }),
    [{ cons: 'x' }, { cons: '' }],
  ],
])('the journal keeps %s', (_title, change, [before, after]) => {
  expect(encodeChanges([change])).toEqual({ nodehm: [['n1', before, after]] });
});
