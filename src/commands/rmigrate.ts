import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { machineOptions } from '../core/machine-options.ts';
import { atLength, type DeviceTarget } from '../drivers/devices.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { optionArguments, optionLine } from './options.ts';
import { deviceAddress, perNode } from './per-node.ts';

const options = machineOptions.rmigrate;

interface Target {
  readonly device: DeviceTarget;
  /** As it would be on the other hypervisor. */
  readonly destination: DeviceTarget;
}

/** Of a machine or an address. */
const hostShape = /^[A-Za-z0-9][\w.:-]{0,252}$/;

/** Moves virtual machines of nodes to another hypervisor. */
export const rmigrate = perNode({
  name: 'rmigrate',
  args: Type.Object({ ...nodeArguments, ...optionArguments(options) }),
  line: optionLine(options),
  uses: ['hardware'],
  outlivesClient: () => true,
  // Muster logs in there as root.
  actsOn: ({ target }) => [{ kind: 'host', name: target }],
  select(snapshot, given, services) {
    if (!hostShape.test(given.target))
      throw new Fault('invalid', `"${given.target.slice(0, 80)}" is no name of a hypervisor.`);
    return selectNodes(snapshot, given, services);
  },
  prepare(snapshot, { target }, { hardware }) {
    const deviceOf = hardware.targets(snapshot, 'rmigrate', 'virtualMachine');
    const destinationOf = hardware.targets(snapshot, 'rmigrate', 'virtualMachine', { vmhost: target });
    return {
      shared: { target },
      target: async (node): Promise<Target> => ({
        device: await deviceOf(node),
        destination: await destinationOf(node),
      }),
    };
  },
  sentTo: ({ device, destination }: Target) => ({ ...deviceAddress(device), to: destination.address }),
  async work({ target }: { readonly target: string }, { device, destination }: Target, task) {
    const tell = (sentence: string): void => task.tell({ kind: 'progress', sentence });
    // A muster that dies meanwhile knows afterwards where it may be.
    task.tell({ kind: 'migrating', to: target });
    const { said, hasMoved } = await task.devices.use(atLength(device), 'virtualMachine', task, (machine) =>
      machine.migrate(destination.access, tell, task.signal),
    );
    if (hasMoved) task.tell({ kind: 'migrated', to: target });
    return { node: task.node, value: { vmmigrate: said } };
  },
});
