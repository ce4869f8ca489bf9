import { afterAll, beforeAll, expect, test } from 'vitest';
import { chvm, mkvm, rmigrate, rmvm } from '../../src/commands/machines.ts';
import { clonevm } from '../../src/commands/clonevm.ts';
import type { Command } from '../../src/commands/command.ts';
import { rbeacon, rbootseq, renergy, reventlog } from '../../src/commands/hardware.ts';
import { posture } from '../../src/commands/posture.ts';
import { rbios } from '../../src/commands/rbios.ts';
import { rmedia } from '../../src/commands/rmedia.ts';
import { rspconfig } from '../../src/commands/rspconfig.ts';
import { snapvm } from '../../src/commands/snapvm.ts';
import { Devices } from '../../src/drivers/devices.ts';
import { Governor } from '../../src/drivers/governor.ts';
import { Hardware } from '../../src/drivers/hardware.ts';
import { makeDrivers } from '../../src/drivers/registry.ts';
import { memoryStore, nodeResultsOf, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
const drivers = makeDrivers({
  powerTimeout: 1_000,
  trust: { known: () => undefined, learn: async () => {} },
});

const kinds = ['ipmi', 'redfish', 'openbmc', 'kvm'];

/** Nodes of which nothing is known but their kind. */
beforeAll(async () => {
  cluster = await memoryStore();
  for (const mgt of kinds)
    await cluster.put(['nodelist', { node: `of-${mgt}` }], ['nodehm', { node: `of-${mgt}`, mgt }]);
  Object.assign(cluster.services, {
    hardware: new Hardware(drivers, cluster.box),
    workerServices: { devices: new Devices(drivers, new Governor()) },
  });
});
afterAll(async () => {
  await cluster.close();
  for (const driver of drivers.values()) await driver.close();
});

/** A command on nodes of kinds that lack what it needs. */
const on = <Args extends { range: string }>(
  without: readonly string[],
  lacks: string,
  command: Command<Args>,
  args: Omit<Args, 'range'>,
) =>
  without.map((kind) => ({
    name: command.name,
    kind,
    lacks,
    run: () => cluster.run(command, { ...args, range: `of-${kind}` } as Args),
  }));

const servers = ['ipmi', 'redfish', 'openbmc'];
const machine = 'virtual machine';

test.each(
  [
    on(servers, machine, mkvm, { disks: [] }),
    on(servers, machine, chvm, { cpus: '2', add: [], purge: [], detach: [], resize: [] }),
    on(servers, machine, rmvm, {}),
    on(servers, machine, clonevm, { tomaster: 'golden' }),
    on(servers, machine, rmigrate, { target: 'elsewhere' }),
    on(servers, 'snapshots', snapvm, { action: 'list' }),
    on(['ipmi', 'kvm'], 'boot order; PUT /nodes/NODE/nextboot {"order":"net"} chooses what boots next', rbootseq, {}),
    on(['ipmi', 'kvm'], 'virtual media; only Redfish has them', rmedia, { action: 'stat' }),
    on(['ipmi', 'kvm'], 'settings of the BIOS; only Redfish has them', rbios, { action: 'get' }),
    on(['kvm'], 'BMC whose protection could be looked at', posture, {}),
    on(['kvm'], 'identification light', rbeacon, { action: 'on' }),
    on(['kvm'], 'energy control', renergy, { attributes: [] }),
    on(['kvm'], 'event log', reventlog, { clear: false }),
    on(['kvm'], 'settings of the BMC', rspconfig, { attribute: 'ip' }),
  ].flat(),
)('$name of mgt=$kind says that it has no $lacks, whatever else is not set', async ({ name, kind, lacks, run }) => {
  expect(await nodeResultsOf(await run())).toMatchObject([
    { node: `of-${kind}`, error: `${name} is not possible: mgt "${kind}" has no ${lacks}.` },
  ]);
});

test('what a node lacks does not depend on which command found its target first', async () => {
  await cluster.put(
    ['nodelist', { node: 'whole' }],
    ['nodehm', { node: 'whole', mgt: 'ipmi' }],
    ['ipmi', { node: 'whole', bmc: '127.0.0.1', username: 'admin', password: 'secret' }],
  );
  const hardware = new Hardware(drivers, cluster.box);
  const { current } = cluster.store;
  await hardware.targets(current, 'rvitals', 'vitals')('whole');
  expect(() => hardware.targets(current, 'mkvm', 'virtualMachine')('whole')).toThrow('mkvm is not possible');
});
