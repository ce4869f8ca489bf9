import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { auditText } from '../../src/database/audit-queue.ts';
import type { JournalChanges } from '../../src/database/changeset.ts';
import { type ChangeSet, type Database, JournalGap, type NewSet, WriteClash } from '../../src/database/database.ts';
import { rowsPerPage } from '../../src/database/loaded-rows.ts';
import type { RecordPlace, SharedQuery } from '../../src/database/shared-records.ts';
import { Snapshot } from '../../src/database/snapshot.ts';
import { Store } from '../../src/database/store.ts';
import { keyOf, snapshotTables, tableNamed } from '../../src/database/tables.ts';
import { clusterEdits, contents, draftOf } from '../harness/random-changes.ts';
import { auditRecord, testOrigin } from '../harness/store.ts';

/** Where databases of one kind are kept for a test. */
export interface Place {
  /** Opens the same database as often as asked, each time as another process would. */
  open(): Promise<Database>;
  remove(): Promise<void>;
}

const site = (key: string, value: string): JournalChanges => ({ site: [[key, null, { key, value }]] });
const status = (node: string, to: string): JournalChanges => ({ nodelist: [[node, {}, { status: to }]] });

/** In the journal if it has a revision. */
const set = (sequence: number, changes: JournalChanges, revision?: number): ChangeSet => ({
  sequence,
  fence: sequence,
  changes,
  journal: revision === undefined ? undefined : { ...testOrigin, run: `run ${revision}`, revision, time: 7 },
});

/** What is given to `write` so that it becomes that. */
const newSet = ({ changes, journal }: ChangeSet, isObservation = false): NewSet => ({
  changes,
  journal,
  isObservation,
});
const observed = (changes: JournalChanges): NewSet => ({ changes, journal: undefined, isObservation: true });

/** What every implementation of `Database` must do. */
export function databaseContract(engine: string, makePlace: () => Promise<Place>): void {
  describe(`${engine} as a database`, () => {
    let place: Place;
    let database: Database;
    let other: Database;
    beforeEach(async () => {
      place = await makePlace();
      database = await place.open();
      other = await place.open();
    });
    afterEach(async () => {
      await Promise.all([database.close(), other.close()]);
      await place.remove();
    });

    const write = (base: number, ...sets: ChangeSet[]) => writeBy(database, base, ...sets);
    const writeBy = (by: Database, base: number, ...sets: ChangeSet[]) =>
      by.write({ base, sets: sets.map((each) => newSet(each)), audit: [] });
    const loaded = async () => Snapshot.of(await other.load());
    const log = (after: number, limit: number, where = {}) => other.readLog({ table: 'auditlog', where, after, limit });

    test('begins with nothing', async () => {
      const empty = await loaded();
      expect(contents(empty, snapshotTables)).toEqual({});
      expect([empty.revision, empty.sequence]).toEqual([0, 0]);
      expect(await other.changesAfter(0)).toEqual([]);
    });

    test('takes a batch in which nothing is', async () => {
      expect(await database.write({ base: 0, sets: [], audit: [] })).toBe(0);
    });

    test('loads what was written, whatever the changes', async () => {
      const sequences = fc.sample(fc.array(clusterEdits, { minLength: 8, maxLength: 16 }), 3).flat();
      const store = await Store.open(database);
      for (const edits of sequences) void store.change(testOrigin, (head) => draftOf(head, edits).changes());
      await store.flush();
      const read = await loaded();
      expect(contents(read, snapshotTables)).toEqual(contents(store.current, snapshotTables));
      expect([read.revision, read.sequence]).toEqual([store.current.revision, store.current.sequence]);
    });

    test('loads tables of several pages whole, also by several keys, with empty ones and rare characters in them', async () => {
      const count = 2 * rowsPerPage + 1;
      // UTF-8 and UTF-16 order these two differently.
      const names = ['', '\u{1f5a5}', '\uff5e', ...Array.from({ length: count - 3 }, (_, i) => `n${i}`)];
      const lists = names.slice(1).map((node) => ({ node, groups: 'all' }));
      const ports = names.map((port, i) => ({ node: `n${i % 3}`, switch: 's1', ...(port === '' ? {} : { port }) }));
      const rowsOf = (table: string, rows: readonly Record<string, string>[]) =>
        rows.map((row) => [keyOf(tableNamed(table), row), null, row] as const);
      await write(0, set(1, { nodelist: rowsOf('nodelist', lists), switch: rowsOf('switch', ports) }, 1));
      const read = await loaded();
      const byKey = (rows: ReturnType<typeof rowsOf>) => new Map(rows.map(([key, , row]) => [key, row]));
      expect(new Map(read.rows('switch').entries())).toEqual(byKey(rowsOf('switch', ports)));
      expect(new Map(read.rows('nodelist').entries())).toEqual(byKey(rowsOf('nodelist', lists)));
      expect(read.rows('nodelist').keys()).toEqual(names.slice(1).sort());
    });

    test('tells the change sets after each, as they were written, volatile ones in their place', async () => {
      const sets = [
        set(1, { nodelist: [['n1', null, { node: 'n1' }]] }, 1),
        set(2, status('n1', 'booting')),
        set(3, site('a', 'b'), 2),
        set(4, status('n1', 'booted')),
      ];
      await write(0, ...sets.slice(0, 3));
      await write(3, ...sets.slice(3));
      for (let after = 0; after <= 4; after++) expect(await other.changesAfter(after)).toEqual(sets.slice(after));
      const { revision, sequence } = await loaded();
      expect([revision, sequence]).toEqual([2, 4]);
    });

    test('knows the order in which rows were stored: a changed row stays where it is, one that is added again comes last', async () => {
      const rack = (node: string, value: string, before: Record<string, string> | null = null) =>
        [node, before, before ? { rack: value } : { node, rack: value }] as const;
      await write(
        0,
        set(1, { nodepos: [rack('rack1', 'r1'), rack('n10', 'r1')] }, 1),
        set(2, { nodepos: [rack('n1', 'r2')] }, 2),
      );
      expect(await other.storedOrder('nodepos')).toEqual(['rack1', 'n10', 'n1']);
      await write(2, set(3, { nodepos: [rack('n10', 'r9', { rack: 'r1' }), ['rack1', { node: 'rack1' }, null]] }, 3));
      expect(await other.storedOrder('nodepos')).toEqual(['n10', 'n1']);
      await write(3, set(4, { nodepos: [rack('rack1', 'r1')] }, 4));
      expect(await other.storedOrder('nodepos')).toEqual(['n10', 'n1', 'rack1']);
      const ports = ['2', '1'].map((port) => ({ node: 'n1', switch: 's1', port }));
      const keys = ports.map((row) => keyOf(tableNamed('switch'), row));
      await write(4, set(5, { switch: ports.map((row, at) => [keys[at]!, null, row]) }, 5));
      expect(await other.storedOrder('switch')).toEqual(keys);
      const many = Array.from({ length: 2_500 }, (_, number) => `m${9_999 - number}`);
      await write(5, set(6, { nodepos: many.map((node) => rack(node, 'r3')) }, 6));
      expect(await other.storedOrder('nodepos')).toEqual(['n10', 'n1', 'rack1', ...many]);
    });

    test('puts a row back where it was if a change set that takes back another adds it again', async () => {
      const names = ['c', 'b', 'a'];
      const added = names.map((key) => [key, null, { key }] as const);
      const gone = ['b', { key: 'b' }, null] as const;
      const back = set(3, { site: [['b', null, { key: 'b' }]] }, 3);
      await write(0, set(1, { site: added }, 1), set(2, { site: [gone] }, 2));
      await write(2, { ...back, journal: { ...back.journal!, reverts: 2 } });
      expect(await other.storedOrder('site')).toEqual(names);
      // By anybody else it is another row.
      await write(3, set(4, { site: [gone] }, 4), set(5, { site: [['b', null, { key: 'b' }]] }, 5));
      expect(await other.storedOrder('site')).toEqual(['c', 'a', 'b']);
      await other.prune({ journalBefore: 8, auditBefore: 0, eventsBefore: 0 });
      await write(5, set(6, { site: [['c', { key: 'c' }, null]] }, 6));
      const late = set(7, { site: [['c', null, { key: 'c' }]] }, 7);
      await write(6, { ...late, journal: { ...late.journal!, reverts: 6 } });
      expect(await other.storedOrder('site')).toEqual(['c', 'a', 'b']);
    });

    test('keeps what each row of a volatile change becomes, also where many become the same', async () => {
      const names = Array.from({ length: 50 }, (_, i) => `n${i}`);
      const rows = names.map((node) => [node, null, { node, appstatus: 'old' }] as const);
      const become = (i: number) =>
        [{ status: 'up' }, { status: 'up', appstatus: null }, { status: 'null' }, { status: null }][i % 4]!;
      const changes = { nodelist: names.map((node, i) => [node, {}, become(i)] as const) };
      await write(0, set(1, { nodelist: rows }, 1), set(2, changes));
      const [told] = (await other.changesAfter(1))!;
      const sorted = ({ nodelist }: JournalChanges) => [...nodelist!].sort(([a], [b]) => (a < b ? -1 : 1));
      expect(sorted(told!.changes)).toEqual(sorted(changes));
      const read = await loaded();
      expect(['n0', 'n1', 'n2', 'n3'].map((node) => read.get('nodelist', node))).toEqual([
        { node: 'n0', appstatus: 'old', status: 'up' },
        { node: 'n1', status: 'up' },
        { node: 'n2', appstatus: 'old', status: 'null' },
        { node: 'n3', appstatus: 'old' },
      ]);
    });

    test('tells thousands of them without a gap or a double', async () => {
      const count = 2_500;
      const sets = Array.from({ length: count }, (_, i) => set(i + 1, site(`k${i}`, 'x'), i + 1));
      await write(0, ...sets);
      const told: number[] = [];
      for (;;) {
        const next = (await other.changesAfter(told.at(-1) ?? 0))!;
        if (next.length === 0) break;
        told.push(...next.map(({ sequence }) => sequence));
      }
      expect(told).toEqual(sets.map(({ sequence }) => sequence));
    });

    test('keeps a change set of any size whole', async () => {
      const rows = Array.from({ length: 100_001 }, (_, i) => [`k${i}`, null, { key: `k${i}`, value: 'x' }] as const);
      await write(0, set(1, { site: rows }, 1));
      const [whole] = (await other.changesAfter(0))!;
      const told = whole!.changes['site']!;
      expect([told.length, told[0], told.at(-1)]).toEqual([rows.length, rows[0], rows.at(-1)]);
      expect((await loaded()).rows('site').size).toBe(rows.length);
    });

    test('says so when what came after is no longer known', async () => {
      await write(0, set(1, site('a', 'b'), 1), set(2, site('c', 'd'), 2), set(3, status('n1', 'x')));
      await other.prune({ journalBefore: 8, auditBefore: 0, eventsBefore: 0 });
      expect(await other.changesAfter(0)).toBeUndefined();
      expect(await other.changesAfter(2)).toEqual([set(3, status('n1', 'x'))]);
      expect(await other.changesAfter(3)).toEqual([]);
      expect(await other.changesAfter(4)).toBeUndefined();
      expect((await loaded()).sequence).toBe(3);
    });

    test('tells the journal, the newest first, chosen by revision, user and command', async () => {
      const sets = Array.from({ length: 700 }, (_, i) => {
        const made = set(i + 1, site(`k${i}`, 'x'), i + 1);
        const command = i % 7 === 0 ? 'seventh' : 'test';
        return { ...made, journal: { ...made.journal!, time: 10 * (i + 1), command, ...(i === 4 && { reverts: 3 }) } };
      });
      await write(0, ...sets);
      const read = async (query: Parameters<Database['readJournal']>[0]) =>
        (await Array.fromAsync(other.readJournal(query))).flat();
      const all = await read({ after: 0, until: 700 });
      expect(all).toEqual(sets.map(({ changes, journal }) => ({ ...journal, changes })).reverse());
      expect((await read({ after: 3, until: 5 })).map(({ revision, reverts }) => [revision, reverts])).toEqual([
        [5, 3],
        [4, undefined],
      ]);
      expect(await read({ after: 0, until: 700, command: 'seventh' })).toHaveLength(100);
      expect(await read({ after: 0, until: 700, user: 'nobody' })).toEqual([]);
      const changes = (await Array.fromAsync(other.readChanges(100, 650))).flat();
      expect(changes).toEqual(sets.slice(100, 650).map((each) => each.changes));
      expect(await other.oldestEntry()).toMatchObject({ revision: 1, time: 10 });
      const at = await Promise.all([5, 10, 19, 6_999, 7_000, 9_999].map((time) => other.revisionAt(time)));
      expect(at).toEqual([0, 1, 1, 699, 700, 700]);
      await other.prune({ journalBefore: 1_000, auditBefore: 0, eventsBefore: 0 });
      expect(await other.oldestEntry()).toMatchObject({ revision: 100 });
      expect(await other.revisionAt(999)).toBeUndefined();
      await expect(Array.fromAsync(other.readChanges(98, 200))).rejects.toThrow(JournalGap);
      expect((await Array.fromAsync(other.readChanges(99, 200))).flat()).toHaveLength(101);
    });

    test('tells every journal entry with rows of a table or under a name, and not all others', async () => {
      const key = ['n1', 's1', '1'].join('\u0000');
      const odd = 'a"b\\c';
      await write(
        0,
        set(1, { switch: [[key, null, { node: 'n1', switch: 's1', port: '1' }]] }, 1),
        set(2, { nodelist: [['n1', null, { node: 'n1' }]] }, 2),
        set(3, { nodelist: [['n11', null, { node: 'n11' }]] }, 3),
        set(4, site(odd, 'x'), 4),
      );
      const read = async (query: { tables?: string[]; names?: string[] }) =>
        (await Array.fromAsync(other.readJournal({ after: 0, until: 4, ...query })))
          .flat()
          .map((each) => each.revision);
      expect(await read({ names: ['n1'] })).toEqual(expect.arrayContaining([2, 1]));
      expect(await read({ names: ['n1'] })).not.toContain(4);
      expect(await read({ names: [odd] })).toEqual([4]);
      expect(await read({ tables: ['nodelist'] })).toEqual([3, 2]);
      expect(await read({ tables: ['site', 'switch'], names: ['n1', odd] })).toEqual([4, 1]);
      expect(await read({ names: Array.from({ length: 50 }, (_, i) => `n${i}`) })).toEqual(
        expect.arrayContaining([3, 2, 1]),
      );
    });

    test('tells a change set of any size whole, from the journal too', async () => {
      const rows = Array.from({ length: 50_000 }, (_, i) => [`k${i}`, null, { key: `k${i}`, value: 'x' }] as const);
      const gone = rows.map(([key, , row]) => [key, row, null] as const);
      await write(0, set(1, { site: rows }, 1), set(2, site('last', 'x'), 2), set(3, { site: gone }, 3));
      const [later, last, large] = (await Array.fromAsync(other.readJournal({ after: 0, until: 3 }))).flat();
      expect([later!.revision, last!.revision, large!.revision]).toEqual([3, 2, 1]);
      expect(large!.changes['site']).toEqual(rows);
      expect(later!.changes['site']).toEqual(gone);
      const parts = (await Array.fromAsync(other.readChanges(0, 3))).flat();
      expect(parts.flatMap((part) => part['site']!)).toHaveLength(2 * rows.length + 1);
    });

    test('writes a batch as a whole or not at all', async () => {
      const broken = set(2, { site: [['c', null, { nocolumn: 'x' }]] }, 2);
      const audit = [auditText(auditRecord(1))];
      await expect(
        database.write({ base: 0, sets: [set(1, site('a', 'b'), 1), broken].map((each) => newSet(each)), audit }),
      ).rejects.toThrow();
      expect((await loaded()).rows('site').size).toBe(0);
      expect(await other.changesAfter(0)).toEqual([]);
      expect(await log(0, 10)).toEqual([]);
      await write(0, set(1, site('a', 'b'), 1));
    });

    test.each([
      ['change set', set(1, site('a', 'b'), 1)],
      ['volatile change', set(1, status('n1', 'x'))],
    ])('refuses a batch that does not go on from the latest %s', async (_what, first) => {
      await writeBy(other, 0, first);
      const audit = [auditText(auditRecord(1))];
      await expect(database.write({ base: 0, sets: [newSet(set(1, site('c', 'd'), 1))], audit })).rejects.toThrow(
        WriteClash,
      );
      await expect(database.write({ base: 0, sets: [], audit })).rejects.toThrow(WriteClash);
      expect(await other.changesAfter(0)).toEqual([first]);
      expect(await log(0, 10)).toEqual([]);
    });

    test('takes observations whatever was written before, numbers them, and lets changes go on from before them', async () => {
      const observe = (by: Database, ...sets: JournalChanges[]) =>
        by.write({ base: undefined, sets: sets.map(observed), audit: [] });
      expect(await write(0, set(1, { nodelist: [['n1', null, { node: 'n1' }]] }, 1))).toBe(1);
      expect(await observe(other, status('n1', 'a'), status('n1', 'b'))).toBe(3);
      expect(await observe(database, status('n1', 'c'))).toBe(4);
      const change = set(5, { nodelist: [['n1', { groups: null }, { groups: 'all' }]] }, 2);
      expect(await write(1, change)).toBe(5);
      const told = (sequence: number, fence: number, to: string) => ({ ...set(sequence, status('n1', to)), fence });
      expect(await other.changesAfter(1)).toEqual([
        told(2, 1, 'a'),
        told(3, 1, 'b'),
        told(4, 1, 'c'),
        { ...change, fence: 2 },
      ]);
      const read = await loaded();
      expect([read.revision, read.sequence, read.fence]).toEqual([2, 5, 2]);
      expect(read.get('nodelist', 'n1')).toEqual({ node: 'n1', groups: 'all', status: 'c' });
      await expect(write(1, set(6, site('a', 'b'), 3))).rejects.toThrow(WriteClash);
    });

    test('writes no observation of a row that is gone', async () => {
      await write(0, set(1, { nodelist: [['n1', null, { node: 'n1' }]] }, 1));
      await write(1, set(2, { nodelist: [['n1', { node: 'n1' }, null]] }, 2));
      await other.write({ base: undefined, sets: [observed(status('n1', 'up'))], audit: [] });
      expect((await loaded()).rows('nodelist').size).toBe(0);
    });

    test('takes audit records alone whatever was written before', async () => {
      await writeBy(other, 0, set(1, site('a', 'b'), 1));
      await database.write({ base: undefined, sets: [], audit: [auditText(auditRecord(1))] });
      expect(await log(0, 10)).toHaveLength(1);
      expect(await other.changesAfter(1)).toEqual([]);
    });

    test('calls back when somebody else has committed, and no more when that is ended', async () => {
      let [calls, endedCalls] = [0, 0];
      const end = database.watch(() => endedCalls++);
      const endOther = database.watch(() => calls++);
      await writeBy(other, 0, set(1, site('a', 'b'), 1));
      await expect.poll(() => Math.min(calls, endedCalls)).toBeGreaterThan(0);
      end();
      [calls, endedCalls] = [0, 0];
      await writeBy(other, 1, set(2, status('n1', 'x')));
      await expect.poll(() => calls).toBeGreaterThan(0);
      expect(endedCalls).toBe(0);
      endOther();
    });

    test('reads the audit log by what records equal, with the request in the comments', async () => {
      const audit = Array.from({ length: 321 }, (_, i) => auditText(auditRecord(i, i % 2 === 0 ? 'alice' : 'bob')));
      await database.write({ base: undefined, sets: [], audit });
      expect(await log(0, 1)).toEqual([
        {
          recid: '1',
          audittime: '1970-01-01T00:00:00.000Z',
          userid: 'alice',
          clientname: '10.0.0.9',
          clienttype: 'ws',
          command: 'rpower',
          noderange: 'n1',
          args: 'on',
          status: 'Allowed',
          comments: 'q-1',
        },
      ]);
      expect(await log(0, 1_000, { userid: 'bob' })).toHaveLength(160);
      expect((await log(10, 3, { userid: 'bob' })).map((row) => row['recid'])).toEqual(['12', '14', '16']);
    });

    test('forgets audit records past their time and goes on counting', async () => {
      const audit = (time: number) =>
        database.write({ base: undefined, sets: [], audit: [auditText(auditRecord(time))] });
      for (const time of [1_000, 2_000, 3_000]) await audit(time);
      await other.prune({ journalBefore: 0, auditBefore: 3_500, eventsBefore: 0 });
      expect(await log(0, 10)).toEqual([]);
      await audit(4_000);
      expect((await log(0, 10)).map((row) => row['recid'])).toEqual(['4']);
    });

    test('removes records of a log up to a number but for some, in the middle of a block too, and goes on counting', async () => {
      const audit = (times: readonly number[]) =>
        database.write({ base: undefined, sets: [], audit: times.map((time) => auditText(auditRecord(time))) });
      await audit(Array.from({ length: 1_500 }, (_, i) => i));
      await other.pruneLog('auditlog', 1_201, [7, 1_100]);
      const [first, second, third, ...more] = await log(0, 1_000);
      expect([first, second, third].map((row) => [row!['recid'], row!['audittime']])).toEqual(
        [7, 1_100, 1_201].map((number) => [String(number), new Date(number - 1).toISOString()]),
      );
      expect(more).toHaveLength(299);
      await other.pruneLog('auditlog', 1_501, [7]);
      await audit([4_000]);
      expect((await log(0, 10)).map((row) => row['recid'])).toEqual(['7', '1501']);
      await other.pruneLog('auditlog', 1_502, []);
      expect(await log(0, 10)).toEqual([]);
    });

    describe('keeps records that servers share', () => {
      const lease = (holder: string, body = '') => ({ kind: 'lease', name: 'dhcp', holder, body });
      const minute = 60_000;

      test('of which one server has each until its time is over, and may keep it', async () => {
        expect(await database.shared.claim(lease('a', 'first'), minute)).toBe(true);
        expect(await other.shared.claim(lease('b'), minute)).toBe(false);
        expect(await database.shared.claim(lease('a', 'second'), 0)).toBe(true);
        expect(await other.shared.get('lease', 'dhcp')).toBeUndefined();
        expect(await other.shared.claim(lease('b', 'third'), minute)).toBe(true);
        expect(await database.shared.claim(lease('a'), minute)).toBe(false);
        expect(await database.shared.get('lease', 'dhcp')).toEqual(lease('b', 'third'));
      });

      test('that only their holder gives back', async () => {
        await database.shared.claim(lease('a'), minute);
        await other.shared.release(lease('b'));
        expect(await other.shared.claim(lease('b'), minute)).toBe(false);
        await database.shared.release(lease('a'));
        expect(await other.shared.claim(lease('b'), minute)).toBe(true);
      });

      test('of which a server takes many at once, and hears who has the others', async () => {
        const node = (name: string, holder: string) => ({ kind: 'node', name, holder, body: `for ${holder}` });
        const all = (holder: string, ...names: string[]) => names.map((name) => node(name, holder));
        expect(await database.shared.claimAll(all('a', 'n1', 'n2'), minute)).toEqual([]);
        expect(await other.shared.claimAll(all('b', 'n3', 'n2', 'n4'), minute)).toEqual([node('n2', 'a')]);
        // Again, to keep them.
        expect(await database.shared.claimAll(all('a', 'n2', 'n1'), minute)).toEqual([]);
        await other.shared.releaseAll('node', ['n1', 'n2', 'n3'], 'b');
        expect(await database.shared.claimAll(all('a', 'n1', 'n2', 'n3', 'n4'), minute)).toEqual([node('n4', 'b')]);
        await database.shared.releaseAll('node', ['n1', 'n2', 'n3'], 'a');
        expect(await other.shared.claimAll(all('b', 'n1', 'n2', 'n3', 'n4'), minute)).toEqual([]);
        expect([await other.shared.claimAll([], minute), await other.shared.releaseAll('node', [], 'b')]).toEqual([
          [],
          undefined,
        ]);
      });

      test('that many who ask at once get once', async () => {
        const asked = ['a', 'b', 'c', 'd', 'e', 'f'].map((holder, i) =>
          (i % 2 === 0 ? database : other).shared.claim(lease(holder), minute),
        );
        expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(1);
      });

      test('by name, the latest first, and forgets them when their time is over', async () => {
        const record = (name: string, holder: string) => ({ kind: 'run', name, holder, body: `body of ${name}` });
        const list = async (holder?: string) =>
          (await other.shared.list({ kind: 'run', holder, limit: 2 })).map(({ name }) => name);
        for (const [name, holder] of [
          ['r1', 'a'],
          ['r2', 'b'],
          ['r3', 'a'],
        ] as const)
          await database.shared.put([record(name, holder)], minute);
        await database.shared.put([{ ...record('x', 'a'), kind: 'other' }], minute);
        expect([await list(), await list('a'), await list('b'), await list('c')]).toEqual([
          ['r3', 'r2'],
          ['r3', 'r1'],
          ['r2'],
          [],
        ]);
        const besides = await other.shared.list({ kind: 'run', besides: 'a', limit: 2 });
        expect(besides.map(({ name }) => name)).toEqual(['r2']);
        await database.shared.put([{ ...record('r1', 'c'), body: 'more' }, record('r3', 'a')], minute);
        expect(await other.shared.get('run', 'r1')).toEqual({ kind: 'run', name: 'r1', holder: 'c', body: 'more' });
        expect(await list()).toEqual(['r3', 'r2']);
        await database.shared.put([record('r3', 'a')], 0);
        await database.shared.remove('run', ['r2']);
        await database.prune({ journalBefore: 0, auditBefore: 0, eventsBefore: 0 });
        expect([await list(), await other.shared.get('other', 'x')]).toEqual([
          ['r1'],
          { ...record('x', 'a'), kind: 'other' },
        ]);
      });
    });

    test('lists the records that servers share by what they are about and what they say, in portions', async () => {
      const names = Array.from({ length: 5 }, (_, i) => `r${i}`);
      for (const [i, name] of names.entries()) {
        const record = { kind: 'run', name, holder: 'a', body: `{"state":"${i % 2}"}`, about: i < 4 ? 'anna' : 'bert' };
        await database.shared.put([record], 60_000);
      }
      const list = (query: Partial<SharedQuery>) => other.shared.list({ kind: 'run', limit: 2, ...query });
      const found: string[][] = [];
      for (let after: RecordPlace | undefined; found.length < 3; ) {
        const portion = await list({ about: 'anna', after });
        found.push(portion.map(({ name }) => name));
        after = portion.at(-1) ?? after;
      }
      expect(found).toEqual([['r3', 'r2'], ['r1', 'r0'], []]);
      const even = await list({ texts: ['"state":"0"', 'state'], limit: 9 });
      expect(even.map(({ name }) => name)).toEqual(['r4', 'r2', 'r0']);
      expect(await list({ about: 'bert', texts: ['"state":"1"'] })).toEqual([]);
    });

    test('shortens claims that the clock of the database makes too long', async () => {
      const hour = 3_600_000;
      const claim = (kind: string, holder: string) =>
        database.shared.claim({ kind, name: 'dhcp', holder, body: '' }, hour);
      for (const kind of ['lease', 'server', 'other']) await claim(kind, 'a');
      await other.shared.shorten(['lease', 'server'], hour);
      expect(await claim('lease', 'b')).toBe(false);
      await other.shared.shorten(['lease', 'server'], 50);
      await expect.poll(async () => [await claim('lease', 'b'), await claim('server', 'b')]).toEqual([true, true]);
      expect(await claim('other', 'b')).toBe(false);
    });

    test('refuses writes after it was closed, instead of waiting for ever', async () => {
      const third = await place.open();
      await third.close();
      await expect(third.write({ base: 0, sets: [], audit: [] })).rejects.toThrow();
    });
  });
}
