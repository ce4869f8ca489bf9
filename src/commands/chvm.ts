import { Fault } from '../core/errors.ts';
import { memberOf } from '../core/command-options.ts';
import { machineOptions } from '../core/machine-options.ts';
import type { MachineChange } from '../drivers/capabilities.ts';
import { optionArguments, optionLine } from './options.ts';
import { foreignRemoval, onHardware, perNode } from './per-node.ts';

const options = machineOptions.chvm;

function refuseNothing({ cpus, memory, add, purge, resize }: Omit<MachineChange, 'force'>): void {
  if (cpus !== undefined || memory !== undefined || [...add, ...purge, ...resize].length > 0) return;
  const known = (['cpus', 'memory', 'add', 'purge', 'resize'] as const).map((name) => memberOf([name, options[name]]));
  throw new Fault('missing-member', `Say what is to change, by any of ${known.join(', ')}.`);
}

/** Changes virtual machines of nodes, also while they run. */
export const chvm = perNode({
  ...onHardware(
    'chvm',
    'virtualMachine',
    optionArguments(options),
    async (machine, { cpus, memory, add, purge, resize, force = false }, task) => {
      const { deleted } = await machine.change(
        { cpus, memory, add, purge, resize, force, removing: foreignRemoval(task) },
        task.signal,
      );
      task.tell({ kind: 'machine-changed', cpus, memory, deleted });
      return {};
    },
    refuseNothing,
  ),
  line: optionLine(options),
  outlivesClient: () => true,
});
