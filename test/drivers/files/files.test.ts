import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rpower } from '../../../src/commands/rpower.ts';
import { rvitals } from '../../../src/commands/hardware.ts';
import { Devices } from '../../../src/drivers/devices.ts';
import { Governor } from '../../../src/drivers/governor.ts';
import { Hardware } from '../../../src/drivers/hardware.ts';
import { memoryStore, nodeResultsOf, type TestStore } from '../../harness/store.ts';
import { filesDriver } from './index.ts';

const count = 40;
const directory = mkdtempSync(join(tmpdir(), 'muster-files-'));
const driver = filesDriver();
let cluster: TestStore;

beforeAll(async () => {
  cluster = await memoryStore();
  const nodes = Array.from({ length: count }, (_, index) => `vm${index}`);
  await cluster.put(
    ...[...nodes, 'homeless'].map((node) => ['nodelist', { node, groups: 'all,vms' }] as const),
    ['nodehm', { node: 'all', mgt: 'files' }],
    ['vm', { node: 'vms', host: 'box1', storage: directory }],
    ['vm', { node: 'homeless', storage: '|.*||' }],
  );
  const drivers = new Map([[driver.name, driver]]);
  const workerServices = { devices: new Devices(drivers, new Governor()) };
  Object.assign(cluster.services, { hardware: new Hardware(drivers, cluster.box), workerServices });
});
afterAll(async () => {
  await cluster.close();
  rmSync(directory, { recursive: true });
});

const results = async <Args>(...[command, args]: Parameters<typeof cluster.run<Args>>) =>
  nodeResultsOf(await cluster.run(command, args));

test('a driver that is no BMC reads its own attributes and takes several commands at once', async () => {
  expect(await results(rpower, { range: 'vm[0-39]', action: 'on' })).toEqual(
    expect.arrayContaining([{ node: 'vm0', value: { power: 'on' } }]),
  );
  expect(readdirSync(directory)).toHaveLength(count);
  expect(driver.most).toBe(4);
});

test('what it lacks is said in its own words', async () => {
  expect(await results(rpower, { range: 'homeless', action: 'stat' })).toEqual([
    { node: 'homeless', error: 'its attribute vmstorage, its directory, is not set.' },
  ]);
  expect(await results(rvitals, { range: 'vm1', kinds: [] })).toMatchObject([
    { node: 'vm1', error: 'rvitals is not possible: mgt "files" has no sensors.' },
  ]);
});
