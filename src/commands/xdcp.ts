import { Type } from 'typebox';
import { Fault, type FaultData } from '../core/errors.ts';
import {
  actingUser,
  type CargoRoot,
  checkLinksLeadDown,
  copyAllowance,
  deliver,
  isAllowedByParameters,
  isLimitedByParameters,
  mayBringFiles,
  type RemoteTarget,
} from '../nodes/index.ts';
import { type Arguments, nodeArguments, selectNodes } from './command.ts';
import { nodeAddress, perNode, type Plan, sshOnWorkers } from './per-node.ts';

const args = Type.Object({
  ...nodeArguments,
  sources: Type.Array(Type.String(), { description: 'paths here; of files that the client sent, their names' }),
  received: Type.Optional(Type.String({ description: 'the directory that files of the client were received into' })),
  target: Type.String({ description: 'a path on the nodes' }),
});

/** A path that no rule means. */
const elsewhere = '/nowhere/at/all';

type CopyArgs = Arguments<typeof args>;

/** The argument line, with the user that is acted as. Files of the client are marked, so that no rule takes them for others. */
const copyLine = ({ sources, received, target }: CopyArgs, user?: string): string =>
  [
    ...(user === undefined ? [] : ['-l', user]),
    ...(received === undefined ? sources : sources.map((name) => `client:${name}`)),
    target,
  ].join(' ');

interface Copy {
  readonly roots: readonly CargoRoot[];
  /** Instead of these: where files of the client are. */
  readonly received: string | undefined;
  /** Links in these must not lead out of the target. */
  readonly isLimited: boolean;
  /** A path on the nodes. */
  readonly target: string;
  /** Nodes that get it at once. */
  readonly atOnce: number;
}

const notFromClient = (user: string): Fault =>
  new Fault(
    'denied',
    `User "${user}" may not send files of their own to these nodes: the policy rule that allows xdcp has parameters that do not name such files. It needs a rule whose parameters allow "client:NAME TARGET".`,
  );

export const xdcp = perNode({
  name: 'xdcp',
  args,
  uses: ['remote'],
  line: (given) => [copyLine(given)],
  outlivesClient: () => true,
  select: selectNodes,
  prepare(snapshot, given, { remote, caller, selection }): Plan<Copy, RemoteTarget | FaultData> {
    const { sources, received, target } = given;
    const nodes = selection.nodes ?? [];
    const asking = { ...caller, command: 'xdcp', nodes };
    const user = actingUser(snapshot, asking, undefined, (as) => copyLine(given, as));
    const readable = caller.hasFullRights() ? remote.sources.everywhere : remote.sources;
    const rootOf = (path: string): CargoRoot => {
      const lineWith = (other: string) =>
        copyLine({ ...given, sources: sources.map((each) => (each === path ? other : each)) });
      const allowed = (real: string) => isAllowedByParameters(snapshot, asking, lineWith(real), [lineWith(elsewhere)]);
      return { path, real: readable.admit(path, allowed) };
    };
    if (received !== undefined) {
      const ofServer = copyLine({ ...given, received: undefined, sources: sources.map((name) => `/${name}`) });
      if (!mayBringFiles(snapshot, asking, copyLine(given), ofServer)) throw notFromClient(caller.user);
    }
    const roots = received === undefined ? sources.map(rootOf) : [];
    const { fanOut } = remote;
    return {
      shared: {
        roots,
        received,
        isLimited: received !== undefined && isLimitedByParameters(snapshot, asking),
        target,
        atOnce: Math.min(fanOut, nodes.length),
      },
      target: remote.targets(snapshot, user),
      width: fanOut,
    };
  },
  sentTo: nodeAddress,
  onWorkers: { ...sshOnWorkers(), files: ({ roots, received }: Copy) => ({ roots, received }) },
  async work({ roots, received, isLimited, target, atOnce }: Copy, to: RemoteTarget | FaultData, task) {
    // What cannot be sent fails before anybody is asked for a slot or a connection.
    const cargo = await (received === undefined ? task.files.cargo(roots) : task.files.received(received));
    if (isLimited) checkLinksLeadDown(cargo);
    await task.remote.use(to, task, (node) =>
      node.withFiles(
        (files, signal) => deliver({ node, files, local: task.files, signal }, cargo, target),
        copyAllowance(cargo, atOnce),
      ),
    );
    return { node: task.node, value: [] };
  },
});
