import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { exportTables } from '../../src/admin/export.ts';
import { importTables } from '../../src/admin/import.ts';
import { withStore } from '../../src/admin/offline.ts';
import { type Contents, fill, firstStart, openData, stored } from './cluster-data.ts';

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
    fc.tuple(fc.record(keys), fc.record(columns, { requiredKeys: [] })).map(([key, rest]) => ({
      ...Object.fromEntries(Object.entries(key).filter(([, value]) => value !== '')),
      ...rest,
    })),
    { maxLength: 6 },
  );

const contents = fc.record(
  Object.fromEntries(Object.entries(shapes).map(([table, shape]) => [table, rowsOf(shape)])),
) as fc.Arbitrary<Contents>;

it('an export with secrets, imported elsewhere, gives the same database', async () => {
  const source = await openData(join(parent, 'source'));
  const target = await openData(join(parent, 'target'));
  const dir = join(parent, 'dump');
  await fc.assert(
    fc.asyncProperty(contents, async (wanted) => {
      const passwd = [...(wanted['passwd'] ?? []), ...firstStart['passwd']!];
      const policy = [...(wanted['policy'] ?? []), ...firstStart['policy']!];
      await fill(source, { ...wanted, passwd, policy });
      rmSync(dir, { recursive: true, force: true });
      await exportTables(source, dir, { withSecrets: true });
      await importTables(target, dir, { replace: true });
      expect(stored(target, { opened: true })).toEqual(stored(source, { opened: true }));
    }),
    { numRuns: 15 },
  );
  const kept = stored(target);
  await Promise.all([source.close(), target.close()]);
  await withStore(join(parent, 'target'), async (reopened) => expect(stored(reopened)).toEqual(kept));
});
