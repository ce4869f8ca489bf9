import { Type } from 'typebox';
import { memberOf } from '../core/command-options.ts';
import { Fault } from '../core/errors.ts';
import { machineOptions } from '../core/machine-options.ts';
import { tableNamed } from '../database/tables.ts';
import { atLength, type DeviceTarget, type MachineChange } from '../drivers/index.ts';
import { effectiveReader } from '../objects/effective.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { optionArguments, optionLine } from './options.ts';
import { deviceAddress, foreignRemoval, onHardware, perNode } from './per-node.ts';

const mkvmOptions = machineOptions.mkvm;

interface NewMachine {
  readonly device: DeviceTarget;
  /** Of the machine that the node was before. */
  readonly uuid: string | undefined;
}

/** Makes virtual machines of nodes, as their attributes say. */
export const mkvm = perNode({
  name: 'mkvm',
  args: Type.Object({ ...nodeArguments, ...optionArguments(mkvmOptions) }),
  line: optionLine(mkvmOptions),
  uses: ['hardware'],
  outlivesClient: () => true,
  select: selectNodes,
  prepare(snapshot, shared, { hardware }) {
    const deviceOf = hardware.targets(snapshot, 'mkvm', 'virtualMachine');
    const reader = effectiveReader(snapshot);
    return {
      shared,
      target: async (node): Promise<NewMachine> => ({
        device: await deviceOf(node),
        uuid: reader.row(tableNamed('vpd'), node)?.['uuid'],
      }),
    };
  },
  sentTo: ({ device }: NewMachine) => deviceAddress(device),
  async work({ cpus, memory, disks, force = false }, { device, uuid }: NewMachine, task) {
    const made = await task.devices.use(device, 'virtualMachine', task, (machine) =>
      machine.create(
        { cpus, memory, disks, force, uuid: uuid?.toLowerCase(), removing: foreignRemoval(task) },
        task.signal,
      ),
    );
    task.report({ kind: 'machine', uuid: made.uuid, mac: made.mac });
    return { node: task.node, value: {} };
  },
});

const chvmOptions = machineOptions.chvm;

function refuseNothing({ cpus, memory, add, purge, resize }: Omit<MachineChange, 'force'>): void {
  if (cpus !== undefined || memory !== undefined || [...add, ...purge, ...resize].length > 0) return;
  const known = (['cpus', 'memory', 'add', 'purge', 'resize'] as const).map((name) =>
    memberOf([name, chvmOptions[name]]),
  );
  throw new Fault('missing-member', `Say what to change: give any of ${known.join(', ')}.`);
}

/** Changes virtual machines of nodes, also while they run. */
export const chvm = perNode({
  ...onHardware(
    'chvm',
    'virtualMachine',
    optionArguments(chvmOptions),
    async (machine, { cpus, memory, add, purge, resize, force = false }, task) => {
      const { deleted } = await machine.change(
        { cpus, memory, add, purge, resize, force, removing: foreignRemoval(task) },
        task.signal,
      );
      task.report({ kind: 'machine-changed', cpus, memory, deleted });
      return {};
    },
    refuseNothing,
  ),
  line: optionLine(chvmOptions),
  outlivesClient: () => true,
});

const rmvmOptions = machineOptions.rmvm;

/** Removes virtual machines of nodes; the nodes stay. */
export const rmvm = perNode({
  ...onHardware(
    'rmvm',
    'virtualMachine',
    optionArguments(rmvmOptions),
    async (machine, { purge = false, force = false }, task) => {
      await machine.remove({ purge, force, removing: foreignRemoval(task) }, task.signal);
      return {};
    },
  ),
  line: optionLine(rmvmOptions),
  outlivesClient: () => true,
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
