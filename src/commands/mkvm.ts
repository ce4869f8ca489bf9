import { Type } from 'typebox';
import { machineOptions } from '../core/machine-options.ts';
import { tableNamed } from '../database/tables.ts';
import type { DeviceTarget } from '../drivers/devices.ts';
import { effectiveReader } from '../objects/effective.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { optionArguments, optionLine } from './options.ts';
import { deviceAddress, foreignRemoval, perNode } from './per-node.ts';

const options = machineOptions.mkvm;

interface Target {
  readonly device: DeviceTarget;
  /** Of the machine that the node was before. */
  readonly uuid: string | undefined;
}

/** Makes virtual machines of nodes, as their attributes say. */
export const mkvm = perNode({
  name: 'mkvm',
  args: Type.Object({ ...nodeArguments, ...optionArguments(options) }),
  line: optionLine(options),
  uses: ['hardware'],
  outlivesClient: () => true,
  select: selectNodes,
  prepare(snapshot, shared, { hardware }) {
    const deviceOf = hardware.targets(snapshot, 'mkvm', 'virtualMachine');
    const reader = effectiveReader(snapshot);
    return {
      shared,
      target: async (node): Promise<Target> => ({
        device: await deviceOf(node),
        uuid: reader.row(tableNamed('vpd'), node)?.['uuid'],
      }),
    };
  },
  sentTo: ({ device }: Target) => deviceAddress(device),
  async work({ cpus, memory, disks, force = false }, { device, uuid }: Target, task) {
    const made = await task.devices.use(device, 'virtualMachine', task, (machine) =>
      machine.create(
        { cpus, memory, disks, force, uuid: uuid?.toLowerCase(), removing: foreignRemoval(task) },
        task.signal,
      ),
    );
    task.tell({ kind: 'machine', uuid: made.uuid, mac: made.mac });
    return { node: task.node, value: {} };
  },
});
