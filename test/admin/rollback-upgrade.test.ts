import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { rollBackUpgrade } from '../../src/admin/rollback-upgrade.ts';
import { outside, queryOutside } from '../harness/raw-sqlite.ts';
import { scratchDirectory } from '../harness/store.ts';
import { firstStart, fill, openData, stored } from './cluster-data.ts';

let data: string;
const database = (): string => join(data, 'muster.sqlite');
const copies = (): string[] => readdirSync(join(data, 'before-upgrade')).toSorted();
const last = (): string => copies().at(-1)!.slice(0, -'.sqlite'.length);

beforeEach(async () => {
  data = scratchDirectory();
  await use((cluster) => fill(cluster, firstStart));
});
afterEach(() => rmSync(data, { recursive: true }));

async function use<T>(work: (cluster: Awaited<ReturnType<typeof openData>>) => Promise<T> | T): Promise<T> {
  const cluster = await openData(data);
  try {
    return await work(cluster);
  } finally {
    await cluster.close();
  }
}

/** Makes the database one of an earlier version, which knew neither the table nor the form. */
function makeOlder(): void {
  const statements = "drop table zone; delete from muster_meta where name in ('form', 'form-parts')";
  outside(database(), (file) => file.exec(statements));
}
const hasZones = (): boolean => queryOutside(database(), "select 1 from sqlite_master where name = 'zone'").length > 0;

it('a start that changes nothing of the database makes no copy', async () => {
  await use(() => undefined);
  expect(existsSync(join(data, 'before-upgrade'))).toBe(false);
});

it('a database is copied before a newer version changes it, for root only, and the copy is put back', async () => {
  makeOlder();
  await use(async (cluster) => {
    expect(stored(cluster)).toMatchObject(firstStart);
    await fill(cluster, { site: [{ key: 'after', value: 'upgrade' }] });
  });
  expect([hasZones(), copies()]).toEqual([true, [expect.stringMatching(/^\d{8}T\d{6}Z\.sqlite$/)]]);
  expect(statSync(join(data, 'before-upgrade', copies()[0]!)).mode & 0o777).toBe(0o600);
  expect(rollBackUpgrade(data, undefined)).toContain(`  ${last()}   20`);
  expect(hasZones()).toBe(true);
  const said = rollBackUpgrade(data, last());
  expect(said).toMatch(/^The database is as it was before the upgrade of 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\./);
  expect([hasZones(), queryOutside(database(), "select value from site where key = 'after'")]).toEqual([false, []]);
  const undone = queryOutside(join(data, 'undone-upgrade-1.sqlite'), "select value from site where key = 'after'");
  expect(undone).toEqual([{ value: 'upgrade' }]);
});

it('only the last three copies are kept', async () => {
  mkdirSync(join(data, 'before-upgrade'));
  for (const year of ['2020', '2021', '2022', '2023'])
    writeFileSync(join(data, 'before-upgrade', `${year}0101T000000Z.sqlite`), '');
  makeOlder();
  await use(() => undefined);
  expect(copies().toSorted()).toEqual([
    '20220101T000000Z.sqlite',
    '20230101T000000Z.sqlite',
    expect.not.stringMatching(/^202[0-3]0101/),
  ]);
});

it('an upgrade that is tried again keeps its first copy, and the next one makes another', async () => {
  makeOlder();
  await use(() => undefined);
  const [first] = copies();
  makeOlder();
  writeFileSync(join(data, 'before-upgrade', 'unfinished'), first!);
  await use(() => undefined);
  expect(copies()).toEqual([first]);
});

it('a second rollback replaces nothing of the first', async () => {
  makeOlder();
  await use(() => undefined);
  rollBackUpgrade(data, last());
  rollBackUpgrade(data, last());
  expect(readdirSync(data).filter((name) => name.startsWith('undone'))).toEqual([
    'undone-upgrade-1.sqlite',
    'undone-upgrade-2.sqlite',
  ]);
});

it('a running server, a missing copy and a damaged copy are refused, and nothing changes', async () => {
  expect(() => rollBackUpgrade(data, undefined)).toThrow('no version has changed the form of this database yet');
  makeOlder();
  await use(() => undefined);
  await use(() => expect(() => rollBackUpgrade(data, last())).toThrow(/in use|uses/));
  writeFileSync(join(data, 'before-upgrade', copies()[0]!), 'no database at all, by its length or otherwise');
  expect(() => rollBackUpgrade(data, '20200101T000000Z')).toThrow(/no copy of the time/);
  expect(() => rollBackUpgrade(data, last())).toThrow(/is damaged.*Restore a backup instead; nothing was changed/);
  expect(hasZones()).toBe(true);
});

it('a damaged database is put aside as it is', async () => {
  makeOlder();
  await use(() => undefined);
  for (const end of ['-wal', '-shm']) rmSync(`${database()}${end}`, { force: true });
  writeFileSync(database(), 'torn');
  rollBackUpgrade(data, last());
  expect(queryOutside(database(), 'select count(*) as n from passwd')).toEqual([{ n: firstStart['passwd']!.length }]);
  expect(existsSync(join(data, 'undone-upgrade-1.sqlite'))).toBe(true);
});
