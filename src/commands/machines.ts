import { Type } from 'typebox';
import { memberOf } from '../core/command-options.ts';
import { Fault } from '../core/errors.ts';
import { machineOptions } from '../core/machine-options.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { tableNamed } from '../database/tables.ts';
import { atLength, type DeviceTarget, type MachineChange } from '../drivers/index.ts';
import { lastHostOf, mastersIn, refuseNameOfMaster } from '../machines/index.ts';
import { effectiveReader } from '../objects/effective.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { optionArguments, optionLine } from './options.ts';
import { deviceAddress, foreignRemoval, perNode, useDevice } from './per-node.ts';

const mkvmOptions = machineOptions.mkvm;

interface KnownMachine {
  readonly device: DeviceTarget;
  /** Of the machine that the node is, or was before. */
  readonly uuid: string | undefined;
}

interface NewMachine extends KnownMachine {
  readonly lastHost: string | undefined;
}

function uuidsIn(snapshot: Snapshot): (node: string) => string | undefined {
  const reader = effectiveReader(snapshot);
  return (node) => reader.row(tableNamed('vpd'), node)?.['uuid']?.toLowerCase();
}

/** Makes virtual machines of nodes, as their attributes say. */
export const mkvm = perNode({
  name: 'mkvm',
  args: Type.Object({ ...nodeArguments, ...optionArguments(mkvmOptions) }),
  line: optionLine(mkvmOptions),
  uses: ['hardware'],
  outlivesClient: () => true,
  select: selectNodes,
  prepare(snapshot, given, { hardware }) {
    const deviceOf = hardware.targets(snapshot, 'mkvm', 'virtualMachine');
    const uuidOf = uuidsIn(snapshot);
    return {
      shared: { ...given, masters: mastersIn(snapshot) },
      async target(node): Promise<NewMachine> {
        const device = await deviceOf(node);
        refuseNameOfMaster(snapshot, node);
        return { device, uuid: uuidOf(node), lastHost: lastHostOf(snapshot, node) };
      },
    };
  },
  sentTo: ({ device }: NewMachine) => deviceAddress(device),
  async work({ cpus, memory, disks, force = false, masters }, { device, ...identity }: NewMachine, task) {
    const made = await task.devices.use(device, 'virtualMachine', task, (machine) =>
      machine.create({ cpus, memory, disks, force, masters, ...identity, removing: foreignRemoval(task) }, task.signal),
    );
    task.report({ kind: 'machine', host: device.address, uuid: made.uuid, mac: made.mac });
    return { node: task.node, value: {} };
  },
});

/** The machines that nodes are, by what muster knows of them. */
function knownMachines(
  snapshot: Snapshot,
  deviceOf: (node: string) => DeviceTarget | Promise<DeviceTarget>,
): (node: string) => Promise<KnownMachine> {
  const uuidOf = uuidsIn(snapshot);
  return async (node) => ({ device: await deviceOf(node), uuid: uuidOf(node) });
}

const chvmOptions = machineOptions.chvm;

function refuseNothing({
  cpus,
  memory,
  add,
  purge,
  detach,
  resize,
}: Omit<MachineChange, 'force' | 'masters' | 'uuid'>): void {
  if (cpus !== undefined || memory !== undefined || [...add, ...purge, ...detach, ...resize].length > 0) return;
  const known = (['cpus', 'memory', 'add', 'purge', 'detach', 'resize'] as const).map((name) =>
    memberOf([name, chvmOptions[name]]),
  );
  throw new Fault('missing-member', `Say what to change: give any of ${known.join(', ')}.`);
}

/** Changes virtual machines of nodes, also while they run. */
export const chvm = perNode({
  name: 'chvm',
  args: Type.Object({ ...nodeArguments, ...optionArguments(chvmOptions) }),
  line: optionLine(chvmOptions),
  uses: ['hardware'],
  outlivesClient: () => true,
  select(snapshot, given, services) {
    refuseNothing(given);
    return selectNodes(snapshot, given, services);
  },
  prepare: (snapshot, given, { hardware }) => ({
    shared: { ...given, masters: mastersIn(snapshot) },
    target: knownMachines(snapshot, hardware.targets(snapshot, 'chvm', 'virtualMachine')),
  }),
  sentTo: ({ device }: KnownMachine) => deviceAddress(device),
  async work(
    { cpus, memory, add, purge, detach, resize, force = false, masters },
    { device, uuid }: KnownMachine,
    task,
  ) {
    const change = { cpus, memory, add, purge, detach, resize, force, masters, uuid, removing: foreignRemoval(task) };
    return useDevice(device, 'virtualMachine', task, async (machine) => {
      const { lost } = await machine.change(change, task.signal);
      task.report({ kind: 'machine-changed', cpus, memory, lost });
      return {};
    });
  },
});

const rmvmOptions = machineOptions.rmvm;

/** Removes virtual machines of nodes; the nodes stay. */
export const rmvm = perNode({
  name: 'rmvm',
  args: Type.Object({ ...nodeArguments, ...optionArguments(rmvmOptions) }),
  line: optionLine(rmvmOptions),
  uses: ['hardware'],
  outlivesClient: () => true,
  select: selectNodes,
  prepare: (snapshot, given, { hardware }) => ({
    shared: { ...given, masters: mastersIn(snapshot) },
    target: knownMachines(snapshot, hardware.targets(snapshot, 'rmvm', 'virtualMachine')),
  }),
  sentTo: ({ device }: KnownMachine) => deviceAddress(device),
  async work({ purge = false, force = false, masters }, { device, uuid }: KnownMachine, task) {
    return useDevice(device, 'virtualMachine', task, async (machine) => {
      await machine.remove({ purge, force, masters, uuid, removing: foreignRemoval(task) }, task.signal);
      task.report({ kind: 'machine-removed', host: device.address });
      return {};
    });
  },
});

const rmigrateOptions = machineOptions.rmigrate;

interface MovingMachine {
  readonly device: DeviceTarget;
  /** As it would be on the other hypervisor. */
  readonly destination: DeviceTarget;
}

/** Of a machine or an address. */
const hostShape = /^[A-Za-z0-9][\w.:-]{0,252}$/;

/** Moves virtual machines of nodes to another hypervisor. */
export const rmigrate = perNode({
  name: 'rmigrate',
  args: Type.Object({ ...nodeArguments, ...optionArguments(rmigrateOptions) }),
  line: optionLine(rmigrateOptions),
  uses: ['hardware'],
  outlivesClient: () => true,
  // Muster logs in there as root.
  actsOn: ({ target }) => [{ kind: 'host', name: target }],
  select(snapshot, given, services) {
    if (!hostShape.test(given.target))
      throw new Fault(
        'invalid',
        `"${given.target.slice(0, 80)}" is not a name for a hypervisor; give a host name or an address.`,
      );
    return selectNodes(snapshot, given, services);
  },
  prepare(snapshot, { target }, { hardware }) {
    const deviceOf = hardware.targets(snapshot, 'rmigrate', 'virtualMachine');
    const destinationOf = hardware.targets(snapshot, 'rmigrate', 'virtualMachine', { vmhost: target });
    return {
      shared: { target },
      target: async (node): Promise<MovingMachine> => ({
        device: await deviceOf(node),
        destination: await destinationOf(node),
      }),
    };
  },
  sentTo: ({ device, destination }: MovingMachine) => ({ ...deviceAddress(device), to: destination.address }),
  async work({ target }: { readonly target: string }, { device, destination }: MovingMachine, task) {
    const report = (sentence: string): void => task.report({ kind: 'progress', sentence });
    // A muster that dies meanwhile knows afterwards where it may be.
    task.report({ kind: 'migrating', to: target });
    const { said, hasMoved } = await task.devices.use(atLength(device), 'virtualMachine', task, (machine) =>
      machine.migrate(destination.access, report, task.signal),
    );
    if (hasMoved) task.report({ kind: 'migrated', to: target });
    return { node: task.node, value: { vmmigrate: said } };
  },
});
