import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clonevm } from '../../src/commands/clonevm.ts';
import { Devices } from '../../src/drivers/devices.ts';
import type { Driver } from '../../src/drivers/driver.ts';
import { Governor } from '../../src/drivers/governor.ts';
import { Hardware } from '../../src/drivers/hardware.ts';
import { memoryStore, nodeResultsOf, type TestStore } from '../harness/store.ts';

const source = join(import.meta.dirname, '../../src');

test('only the registry knows the driver kvm, and nothing outside its folder compares with its name', () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !/^(drivers\/kvm|cli)\//.test(path),
  );
  const knowing = files.filter((path) => /\/kvm\/|'kvm'/.test(readFileSync(join(source, path), 'utf8')));
  expect(knowing).toEqual(['drivers/registry.ts']);
});

/** Virtual machines of another kind, as far as masters are concerned. */
function shelfDriver(): Driver<string> {
  const lost = async (): Promise<never> => {
    throw new Error('nobody asks for this');
  };
  return {
    name: 'shelf',
    offers: ['virtualMachine'],
    attributes: ['vmhost'],
    target: ({ name }) => ({ device: 'shelf', address: 'shelf', width: 1, access: name }),
    connect: (node) => ({
      virtualMachine: {
        makeMaster: async ({ name }) => ({ name, storage: `shelf of ${node}`, definition: 'plain', message: 'copied' }),
        clone: async ({ master }) => ({ uuid: `uuid-of-${node}`, mac: '02:00:00:00:00:01', message: master.storage }),
        migrate: lost,
        change: lost,
        create: lost,
        remove: lost,
      },
    }),
    close: async () => {},
  };
}

let cluster: TestStore;

beforeAll(async () => {
  cluster = await memoryStore();
  const drivers = new Map(['shelf', 'other'].map((name) => [name, { ...shelfDriver(), name }]));
  for (const [node, mgt] of Object.entries({ s1: 'shelf', s2: 'shelf', o1: 'other' }))
    await cluster.put(['nodelist', { node }], ['nodehm', { node, mgt }]);
  await cluster.put(['vmmaster', { name: 'old', storage: 'shelf of somebody' }]);
  Object.assign(cluster.services, {
    hardware: new Hardware(drivers, cluster.box),
    workerServices: { devices: new Devices(drivers, new Governor()) },
  });
});
afterAll(() => cluster.close());

const clone = async (range: string, args: { readonly tomaster?: string; readonly frommaster?: string }) =>
  nodeResultsOf(await cluster.run(clonevm, { range, ...args }));

test('a driver of virtual machines needs nothing else for its masters and machines to be kept', async () => {
  expect(await clone('s1', { tomaster: 'gold' })).toEqual([{ node: 's1', value: { vmclone: 'copied' } }]);
  expect(cluster.current.get('vmmaster', 'gold')).toMatchObject({ storage: 'shelf of s1', virttype: 'shelf' });
  expect(await clone('s2', { frommaster: 'gold' })).toEqual([{ node: 's2', value: { vmclone: 'shelf of s1' } }]);
  expect(cluster.current.get('vpd', 's2')).toMatchObject({ uuid: 'uuid-of-s2' });
  expect(cluster.current.get('mac', 's2')).toMatchObject({ mac: '02:00:00:00:00:01' });
});

test('a master of another driver is refused, and one that does not name its driver is taken', async () => {
  await clone('s1', { tomaster: 'silver' });
  expect(await clone('o1', { frommaster: 'silver' })).toMatchObject([
    { node: 'o1', error: 'its mgt is "other", and the master silver is for "shelf", as its virttype says.' },
  ]);
  expect(await clone('o1', { frommaster: 'old' })).toEqual([{ node: 'o1', value: { vmclone: 'shelf of somebody' } }]);
});
