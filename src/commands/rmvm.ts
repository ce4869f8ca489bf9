import { Type } from 'typebox';
import { foreignRemoval, onHardware, perNode } from './per-node.ts';

const args = {
  purge: Type.Optional(Type.Boolean({ description: 'its disks are deleted' })),
  force: Type.Optional(Type.Boolean({ description: 'also one that runs, or that somebody else has made' })),
};

/** Removes virtual machines of nodes; the nodes stay. */
export const rmvm = perNode({
  ...onHardware('rmvm', 'virtualMachine', args, async (machine, { purge = false, force = false }, task) => {
    await machine.remove({ purge, force, removing: foreignRemoval(task) }, task.signal);
    return {};
  }),
  line: ({ purge, force }) => [...(purge ? ['-p'] : []), ...(force ? ['-f'] : [])],
  outlivesClient: () => true,
});
