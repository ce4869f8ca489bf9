import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { lsdef, revert } from '../../src/commands/index.ts';
import type { Snapshot } from '../../src/database/snapshot.ts';
import { type Row, snapshotTables } from '../../src/database/tables.ts';
import { NodeCatalog } from '../../src/objects/catalog.ts';
import { allMembers, allNodes, groupMembers, groupNames } from '../../src/objects/groups.ts';
import { clusterEdits, contents, draftOf } from '../harness/random-changes.ts';
import { answerOf, memoryStore, testOrigin, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
beforeEach(async () => {
  cluster = await memoryStore();
});
afterEach(() => cluster.close());

/** All that the journal knows of a state. */
function lasting(snapshot: Snapshot): Record<string, [string, Row][]> {
  const shown = contents(snapshot, snapshotTables);
  for (const { name, volatile } of snapshotTables)
    shown[name]?.forEach((entry) => {
      entry[1] = Object.fromEntries(Object.entries(entry[1]).filter(([column]) => !volatile.has(column)));
    });
  return shown;
}

const volatileAttributes = /^(app|update)?status(time)?$/;
const withoutVolatile = (attributes: Row): Row =>
  Object.fromEntries(Object.entries(attributes).filter(([name]) => !volatileAttributes.test(name)));

const edit = (edits: Parameters<typeof draftOf>[1]) =>
  cluster.store.change(testOrigin, (head) => draftOf(head, edits).changes());

it('is as it was after every revision, whatever was changed since', async () => {
  const states = new Map<number, unknown>();
  const remember = () => states.set(cluster.current.revision, lasting(cluster.current));
  for (const edits of fc.sample(clusterEdits, { numRuns: 120, seed: 17 })) {
    await edit(edits);
    remember();
  }
  const revisions = fc.sample(fc.shuffledSubarray([...states.keys()], { minLength: states.size }), {
    numRuns: 1,
    seed: 3,
  });
  for (const revision of revisions.flat()) {
    const past = await cluster.store.past.at(cluster.current, revision);
    expect([past.revision, lasting(past)]).toEqual([revision, states.get(revision)]);
  }
  expect(contents(await cluster.store.past.at(cluster.current, 0), snapshotTables)).toEqual({});
});

it('has the groups and the definitions it had, whichever states were asked for before', async () => {
  const shownIn = (snapshot: Snapshot): unknown => {
    const groups = groupNames(snapshot).map((group) => [
      group,
      groupMembers(snapshot, group),
      allMembers(snapshot, group),
    ]);
    const texts = allNodes(snapshot).map((node) => catalog.text(snapshot, node));
    return { groups, nodes: texts.map((text) => withoutVolatile(JSON.parse(text) as Row)) };
  };
  const catalog = new NodeCatalog();
  const states = new Map<number, unknown>();
  for (const edits of fc.sample(clusterEdits, { numRuns: 60, seed: 23 })) {
    await edit(edits);
    states.set(cluster.current.revision, shownIn(cluster.current));
  }
  const shuffled = fc.shuffledSubarray([...states.keys()], { minLength: states.size });
  for (const [at, revision] of fc.sample(shuffled, { numRuns: 2, seed: 4 }).flat().entries()) {
    expect(shownIn(await cluster.store.past.at(cluster.current, revision))).toEqual(states.get(revision));
    // What is current changes meanwhile, and is shown in between.
    if (at % 7 === 0) await edit(fc.sample(clusterEdits, { numRuns: 1, seed: at })[0]!);
    if (at % 5 === 0) shownIn(cluster.current);
  }
});

it('is found from states in between, over thousands of revisions', async () => {
  const count = 3_000;
  for (let i = 1; i <= count; i++)
    void cluster.store.change(testOrigin, () => [
      {
        table: 'site',
        key: 'a',
        before: i === 1 ? undefined : { key: 'a', value: String(i - 1) },
        after: { key: 'a', value: String(i) },
      },
    ]);
  await cluster.store.flush();
  const first = cluster.current.revision - count;
  const at = async (value: number) =>
    (await cluster.store.past.at(cluster.current, first + value)).get('site', 'a')?.['value'];
  for (const value of [1, count, 1_500, 1_499, 2_999, 700, 2, 1_024]) expect(await at(value)).toBe(String(value));
  const together = await Promise.all([5, 2_000, 5, 1_000].map(at));
  expect(together).toEqual(['5', '2000', '5', '1000']);
});

it('is equal in all tables after every change is taken back, the latest first', async () => {
  const states: unknown[] = [];
  const first = cluster.current.revision;
  for (const edits of fc.sample(clusterEdits, { numRuns: 60, seed: 5 })) {
    const before = cluster.current.revision;
    const state = lasting(cluster.current);
    await edit(edits);
    if (cluster.current.revision > before) states.push(state);
  }
  for (let id = cluster.current.revision; id > first; id--) {
    const { answer } = await cluster.run(revert, { id: String(id) });
    expect(answer).toMatchObject({ value: { id: cluster.current.revision, reverts: id } });
    expect(lasting(cluster.current)).toEqual(states.pop());
  }
});

it('takes back any change or says what came later, and then changes nothing', async () => {
  const first = cluster.current.revision;
  for (const edits of fc.sample(clusterEdits, { numRuns: 40, seed: 9 })) await edit(edits);
  const last = cluster.current.revision;
  let taken = 0;
  let refused = 0;
  for (let id = last; id > first; id -= 3) {
    const before = cluster.current;
    const state = lasting(before);
    const dry = await cluster.run(revert, { id: String(id) }, { dryRun: true }).catch((error: Error) => error);
    const real = await cluster.run(revert, { id: String(id) }).catch((error: Error) => error);
    if (real instanceof Error) {
      refused++;
      expect((dry as Error).message).toBe(real.message);
      expect(real.message).toMatch(/came later/);
      expect(lasting(cluster.current)).toEqual(state);
    } else {
      taken++;
      const undone = await cluster.run(revert, { id: String(cluster.current.revision) });
      expect(undone.answer.shape).toBe('value');
      expect(lasting(cluster.current)).toEqual(state);
    }
  }
  expect([taken > 0, refused > 0]).toEqual([true, true]);
});

it('tells how far back one can go once old entries were dropped', async () => {
  await cluster.put(['nodelist', { node: 'n1', groups: 'all' }]);
  const dropped = cluster.current.revision;
  await cluster.store.database.prune({ journalBefore: Date.now() + 1_000, auditBefore: 0, eventsBefore: 0 });
  await cluster.put(['nodelist', { node: 'n1', groups: 'all,x' }]);
  const ask = (at: string) => cluster.run(lsdef, { type: 'node', names: 'n1' }, { at });
  expect(answerOf(await ask(String(dropped)))).toEqual({ n1: { groups: 'all' } });
  const sentence = `The journal does not know revision ${dropped - 1}: it goes back to revision ${dropped}, before the change of `;
  await expect(ask(String(dropped - 1))).rejects.toThrow(sentence);
  await expect(ask('2020-01-01T00:00:00Z')).rejects.toThrow('The journal does not know 2020-01-01T00:00:00.000Z');
  await expect(cluster.run(revert, { id: String(dropped) })).rejects.toThrow(`There is no change ${dropped}`);
});

it('puts back what stands encrypted in the journal as it was', async () => {
  await cluster.put(['nodelist', { node: 'n1' }], ['ipmi', { node: 'n1', password: 'first' }]);
  const sealed = cluster.current.get('ipmi', 'n1')!['password']!;
  await cluster.put(['ipmi', { node: 'n1', password: 'second' }]);
  await cluster.run(revert, { id: String(cluster.current.revision) });
  expect(cluster.current.get('ipmi', 'n1')!['password']).toBe(sealed);
});
