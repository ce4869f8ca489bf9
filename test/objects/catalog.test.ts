import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Snapshot } from '../../src/database/snapshot.ts';
import { affectedNodes, type Listing, listingBytes, NodeCatalog } from '../../src/objects/catalog.ts';
import { effectiveReader } from '../../src/objects/effective.ts';
import { visibleNodes } from '../../src/objects/groups.ts';
import { nodeAttributes } from '../../src/objects/node-attributes.ts';
import { clusterEdits, nodeNames, withEdits } from '../harness/random-changes.ts';
import { snapshotOf } from '../harness/snapshot.ts';

/** Enough nodes for several blocks of the listing; the first six are those that random changes touch. */
const many = snapshotOf({
  nodelist: Array.from({ length: 300 }, (_, i) => ({ node: `n${i + 1}`, groups: i % 2 === 0 ? 'g1,g2' : 'g3' })),
  nodehm: [{ node: 'g1', mgt: 'ipmi' }],
});

const textOf = (catalog: NodeCatalog, listing: Listing): string =>
  Buffer.concat(listingBytes(listing.blocks.map((block) => catalog.fill(listing, block)))).toString();

function computed(snapshot: Snapshot): string {
  const reader = effectiveReader(snapshot);
  const entries = visibleNodes(snapshot).map(
    (node) => `${JSON.stringify(node)}:${JSON.stringify(nodeAttributes(reader, node))}`,
  );
  return `{${entries.join(',')}}\n`;
}

const history = fc.array(clusterEdits, { minLength: 1, maxLength: 6 });

describe.each([
  ['a few nodes', Snapshot.empty, 150],
  ['several blocks', many, 25],
])('with %s', (_title, initial, numRuns) => {
  test('after any sequence of changes the listing and every text equal freshly computed ones', () => {
    fc.assert(
      fc.property(history, (sequence) => {
        const catalog = new NodeCatalog();
        let snapshot = initial;
        for (const edits of sequence) {
          expect(textOf(catalog, catalog.listing(snapshot))).toBe(computed(snapshot));
          snapshot = withEdits(snapshot, edits);
          const reader = effectiveReader(snapshot);
          for (const node of nodeNames) {
            expect(catalog.text(snapshot, node)).toBe(JSON.stringify(nodeAttributes(reader, node)));
          }
        }
        expect(textOf(catalog, catalog.listing(snapshot))).toBe(computed(snapshot));
      }),
      { numRuns },
    );
  });

  test('a listing begun on an old snapshot stays what it was, also when its blocks are filled later', () => {
    fc.assert(
      fc.property(history, fc.boolean(), (sequence, fillFirst) => {
        const catalog = new NodeCatalog();
        const old: [Listing, string][] = [];
        let snapshot = initial;
        for (const edits of sequence) {
          const listing = catalog.listing(snapshot);
          if (fillFirst && listing.blocks[0]) catalog.fill(listing, listing.blocks[0]);
          old.push([listing, computed(snapshot)]);
          snapshot = withEdits(snapshot, edits);
        }
        expect(textOf(catalog, catalog.listing(snapshot))).toBe(computed(snapshot));
        for (const [listing, text] of old) {
          expect(textOf(catalog, listing)).toBe(text);
          expect(textOf(catalog, catalog.listing(listing.snapshot))).toBe(text);
        }
      }),
      { numRuns },
    );
  });
});

test('blocks that a change does not touch are kept with their text', () => {
  const catalog = new NodeCatalog();
  const before = catalog.listing(many);
  for (const block of before.blocks) catalog.fill(before, block);
  const after = catalog.listing(
    withEdits(many, [{ table: 'nodehm', identity: { node: 'n1' }, columns: { cons: 'x' } }]),
  );
  expect(after.blocks.map(({ bytes }, i) => bytes === before.blocks[i]!.bytes)).toEqual([false, true, true]);
});

describe('nodes whose definition may differ', () => {
  const base = snapshotOf({
    nodelist: [
      { node: 'n1', groups: 'g' },
      { node: 'n2', groups: 'g' },
      { node: 'n3', groups: 'h' },
    ],
  });
  test.each<[string, string, Record<string, string>, Record<string, string>, string[] | 'all']>([
    ['the node with a changed row', 'nodehm', { node: 'n3' }, { mgt: 'x' }, ['n3']],
    ['the members of a group with one', 'nodehm', { node: 'g' }, { mgt: 'x' }, ['g', 'n1', 'n2']],
    ['the node that joined a group', 'nodelist', { node: 'n3' }, { groups: 'g' }, ['n3']],
    ['nobody, for a table without nodes', 'networks', { net: '10.0.0.0', mask: '255.0.0.0' }, { netname: 'a' }, []],
    ['all, for scripts of every node', 'postscripts', { node: 'xcatdefaults' }, { postscripts: 'x' }, 'all'],
    ['all, for the list of hierarchical attributes', 'site', { key: 'hierarchicalattrs' }, { value: 'x' }, 'all'],
  ])('%s', (_title, table, identity, columns, expected) => {
    const affected = affectedNodes(base, withEdits(base, [{ table, identity, columns }]));
    expect(affected === 'all' ? affected : [...affected].sort()).toEqual(expected);
  });

  test('are among the affected, whatever the changes', () => {
    fc.assert(
      fc.property(clusterEdits, clusterEdits, (first, second) => {
        const before = withEdits(Snapshot.empty, first);
        const after = withEdits(before, second);
        const affected = affectedNodes(before, after);
        const text = (snapshot: Snapshot, node: string) =>
          JSON.stringify(nodeAttributes(effectiveReader(snapshot), node));
        const differing = nodeNames.filter((node) => text(before, node) !== text(after, node));
        if (affected !== 'all') expect(differing.filter((node) => !affected.has(node))).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});
