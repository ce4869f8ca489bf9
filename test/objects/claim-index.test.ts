import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { atOnce } from '../../src/core/slices.ts';
import { Snapshot } from '../../src/database/snapshot.ts';
import { rowsThatClaim } from '../../src/objects/claim-index.ts';
import { snapshotOf } from '../harness/snapshot.ts';

const nodes = ['n1', 'n2', 'n3', 'rack1'];
const macs = ['52:54:00:00:00:01', '525400000001', '52-54-00-00-00-02!eth1|52:54:00:00:00:03'];
const claims = ['mac 525400000001', 'mac 525400000002', 'mac 525400000003', 'mac 5254'];

/** Nodes and their MAC addresses; undefined: the row goes. */
const edits = fc.array(fc.tuple(fc.constantFrom(...nodes), fc.option(fc.constantFrom(...macs), { nil: undefined })));

const withMacs = (snapshot: Snapshot, changed: readonly (readonly [string, string | undefined])[]): Snapshot =>
  snapshot.apply(
    [...new Map(changed)].map(([key, mac]) => ({
      table: 'mac',
      key,
      before: snapshot.get('mac', key),
      after: mac === undefined ? undefined : { node: key, mac },
    })),
    snapshot.revision + 1,
  );

const recount = (snapshot: Snapshot, claim: string): string[] =>
  [...snapshot.rows('mac').entries()].flatMap(([key, { mac = '' }]) => {
    const written = mac.split('|').map((part) => part.split('!', 1)[0]!.replaceAll(/[:-]/g, ''));
    return written.includes(claim.slice('mac '.length)) ? key : [];
  });

test('after any sequence of changes, and asked in any order, who claims a MAC address equals a full recount', () => {
  fc.assert(
    fc.property(fc.array(edits, { minLength: 1, maxLength: 6 }), fc.array(fc.nat(5)), (sequence, order) => {
      const snapshots = sequence.reduce((all, changed) => [...all, withMacs(all.at(-1)!, changed)], [Snapshot.empty]);
      for (const index of [...snapshots.keys(), ...order]) {
        const snapshot = snapshots[index % snapshots.length]!;
        const keysOf = atOnce(rowsThatClaim(snapshot, 'mac'));
        for (const claim of claims) expect(keysOf(claim)).toEqual(recount(snapshot, claim));
      }
    }),
    { numRuns: 100 },
  );
});

test('thousands of rows with the same serial number are found in their order, and others get their turn meanwhile', () => {
  const keys = Array.from({ length: 2_000 }, (_, i) => `n${String(i).padStart(4, '0')}`);
  const vpd = keys.map((node) => ({ node, mtm: 'M1', serial: 'To be filled by O.E.M.' }));
  const work = rowsThatClaim(snapshotOf({ vpd }), 'vpd');
  expect(work.next().done).toBe(false);
  expect(atOnce(work)('vpd M1 TOBEFILLEDBYOEM')).toEqual(keys);
});
