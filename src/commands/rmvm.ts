import { machineOptions } from '../core/machine-options.ts';
import { optionArguments, optionLine } from './options.ts';
import { foreignRemoval, onHardware, perNode } from './per-node.ts';

const options = machineOptions.rmvm;

/** Removes virtual machines of nodes; the nodes stay. */
export const rmvm = perNode({
  ...onHardware(
    'rmvm',
    'virtualMachine',
    optionArguments(options),
    async (machine, { purge = false, force = false }, task) => {
      await machine.remove({ purge, force, removing: foreignRemoval(task) }, task.signal);
      return {};
    },
  ),
  line: optionLine(options),
  outlivesClient: () => true,
});
