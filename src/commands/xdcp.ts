import { Type } from 'typebox';
import type { FaultData } from '../core/errors.ts';
import {
  actingUser,
  type CargoRoot,
  copyAllowance,
  deliver,
  isAllowedByParameters,
  type RemoteTarget,
} from '../nodes/index.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { nodeAddress, perNode, type Plan } from './per-node.ts';

const args = Type.Object({
  ...nodeArguments,
  sources: Type.Array(Type.String(), { description: 'paths here' }),
  target: Type.String({ description: 'a path on the nodes' }),
});

/** A path that no rule means. */
const elsewhere = '/nowhere/at/all';

/** The argument line, with the user that is acted as. */
const copyLine = (sources: readonly string[], target: string, user?: string): string =>
  [...(user === undefined ? [] : ['-l', user]), ...sources, target].join(' ');

interface Copy {
  readonly roots: readonly CargoRoot[];
  /** A path on the nodes. */
  readonly target: string;
  /** Nodes that get it at once. */
  readonly atOnce: number;
}

export const xdcp = perNode({
  name: 'xdcp',
  args,
  uses: ['remote'],
  line: ({ sources, target }) => [copyLine(sources, target)],
  outlivesClient: () => true,
  select: selectNodes,
  prepare(snapshot, { sources, target }, { remote, caller, selection }): Plan<Copy, RemoteTarget | FaultData> {
    const nodes = selection.nodes ?? [];
    const asking = { ...caller, command: 'xdcp', nodes };
    const user = actingUser(snapshot, asking, undefined, (as) => copyLine(sources, target, as));
    const roots = sources.map((path): CargoRoot => {
      const lineWith = (other: string) =>
        copyLine(
          sources.map((each) => (each === path ? other : each)),
          target,
        );
      const allowed = (real: string) => isAllowedByParameters(snapshot, asking, lineWith(real), [lineWith(elsewhere)]);
      return { path, real: remote.sources.admit(path, allowed) };
    });
    const { fanOut } = remote;
    return {
      shared: { roots, target, atOnce: Math.min(fanOut, nodes.length) },
      target: remote.targets(snapshot, user),
      width: fanOut,
    };
  },
  sentTo: nodeAddress,
  async work({ roots, target, atOnce }: Copy, to: RemoteTarget | FaultData, task) {
    // What cannot be sent fails before anybody is asked for a slot or a connection.
    const cargo = await task.files.cargo(roots);
    await task.remote.use(to, task, (node) =>
      node.withFiles(
        (files, signal) => deliver({ node, files, local: task.files, signal }, cargo, target),
        copyAllowance(cargo, atOnce),
      ),
    );
    return { node: task.node, value: [] };
  },
});
