import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { exportTables } from '../../src/admin/export.ts';
import { importTables } from '../../src/admin/import.ts';
import { withStore } from '../../src/admin/offline.ts';
import { Draft } from '../../src/database/draft.ts';
import { keyOf, snapshotTables, tableNamed } from '../../src/database/tables.ts';
import { type Contents, firstStart, stored } from './cluster-data.ts';

let parent: string;
beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'muster-round-trip-'));
});
afterAll(() => rmSync(parent, { recursive: true }));

/** What dumps stumble over, and the empty text, which differs from an unset column. */
const text = fc.string({ unit: fc.constantFrom('"', ',', '#', ' ', '|', "'", '\\', 'a', 'Z', '0', 'ü', '漢', '😀') });
const name = fc.constantFrom('n1', 'n2', 'n10', 'compute', 'rack_1.left', 'xcatdefaults');
const node = fc.constantFrom('n1', 'n2', 'n10', 'login-1');
const priority = fc.constantFrom('1.1', '1.10', '2', '44');
const secret = text.filter((value) => value !== '********');

type Columns = Record<string, fc.Arbitrary<string>>;
const shapes: Record<string, { keys: Columns; columns: Columns }> = {
  nodelist: { keys: { node }, columns: { groups: text, status: text, comments: text, disable: text } },
  switch: { keys: { node: name, switch: text, port: text }, columns: { vlan: text } },
  ipmi: { keys: { node: name }, columns: { username: text, password: secret } },
  switches: { keys: { switch: name }, columns: { password: secret, auth: secret, comments: text } },
  site: { keys: { key: name }, columns: { value: text } },
  passwd: { keys: { key: fc.constantFrom('system', 'vmware', 'ipmi'), username: text }, columns: { password: secret } },
  policy: { keys: { priority }, columns: { name: text, rule: text, time: text } },
  notification: { keys: { filename: text.filter((value) => value !== '') }, columns: { tables: text } },
};

const rowsOf = ({ keys, columns }: (typeof shapes)[string]) =>
  fc.array(
    fc
      .tuple(fc.record(keys), fc.record(columns, { requiredKeys: [] }))
      .map(([key, rest]) => ({
        ...Object.fromEntries(Object.entries(key).filter(([, value]) => value !== '')),
        ...rest,
      })),
    { maxLength: 6 },
  );

const contents = fc.record(
  Object.fromEntries(Object.entries(shapes).map(([table, shape]) => [table, rowsOf(shape)])),
) as fc.Arbitrary<Contents>;

/** Makes the given rows all that the data directory holds, and exports them. */
async function exportOnly(dataDir: string, dir: string, wanted: Contents): Promise<void> {
  await withStore(dataDir, async ({ store, box, seal }) => {
    const draft = new Draft(store.head, seal);
    for (const { name: table } of snapshotTables) {
      for (const key of store.head.rows(table).keys()) draft.remove(table, key);
    }
    for (const part of [wanted, firstStart]) {
      for (const [table, rows] of Object.entries(part)) {
        for (const row of rows) draft.merge(table, keyOf(tableNamed(table), row), row);
      }
    }
    await store.change({ user: 'root', client: 'test', command: 'test', run: 'test' }, () => draft.changes());
    await exportTables({ store, box }, dir, { withSecrets: true });
  });
}

it('an export with secrets, imported elsewhere, gives the same database', { timeout: 60_000 }, async () => {
  const source = join(parent, 'source');
  const target = join(parent, 'target');
  let run = 0;
  await fc.assert(
    fc.asyncProperty(contents, async (wanted) => {
      const dir = join(parent, `dump${run++}`);
      await exportOnly(source, dir, wanted);
      await importTables(target, dir, { replace: true });
      expect(await stored(target, { opened: true })).toEqual(await stored(source, { opened: true }));
      rmSync(dir, { recursive: true });
    }),
    { numRuns: 20 },
  );
});
