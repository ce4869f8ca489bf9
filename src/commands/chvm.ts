import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { MachineChange } from '../drivers/capabilities.ts';
import { foreignRemoval, onHardware, perNode } from './per-node.ts';

const args = {
  cpus: Type.Optional(Type.String()),
  memory: Type.Optional(Type.String({ description: 'megabytes, or a number with its unit' })),
  add: Type.Array(Type.String(), { description: 'sizes of disks to make: gigabytes, or numbers with their units' }),
  purge: Type.Array(Type.String(), { description: 'devices of disks to delete' }),
  resize: Type.Array(Type.String(), { description: 'devices of disks with their new sizes, such as vdb=20' }),
  force: Type.Optional(Type.Boolean({ description: 'also disks that are in the way, or that somebody else has made' })),
};

function refuseNothing({ cpus, memory, add, purge, resize }: Omit<MachineChange, 'force'>): void {
  if (cpus !== undefined || memory !== undefined || [...add, ...purge, ...resize].length > 0) return;
  const known = 'cpucount, memorysize, adddisk, purgedisk, resizedisk';
  throw new Fault('missing-member', `Say what is to change, by any of ${known}.`);
}

/** Changes virtual machines of nodes, also while they run. */
export const chvm = perNode({
  ...onHardware(
    'chvm',
    'virtualMachine',
    args,
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
  line: ({ cpus, memory, add, purge, resize, force }) => [
    ...(add.length > 0 ? ['-a', add.join(',')] : []),
    ...(purge.length > 0 ? ['-p', purge.join(',')] : []),
    ...(resize.length > 0 ? ['--resize', resize.join(',')] : []),
    ...(memory === undefined ? [] : ['--mem', memory]),
    ...(cpus === undefined ? [] : ['--cpus', cpus]),
    ...(force ? ['-f'] : []),
  ],
  outlivesClient: () => true,
});
