import { asTheyCome } from '../core/as-they-come.ts';
import { Fault } from '../core/errors.ts';
import { actingUser, isAllowedByParameters } from '../services/remote/acting-user.ts';
import { type Cargo, type CargoRoot, loadCargo } from '../services/remote/cargo.ts';
import { copyAllowance } from '../services/remote/copy-allowance.ts';
import type { CopyRequest } from '../services/remote/copy-request.ts';
import { deliver } from '../services/remote/deliver.ts';
import { failed, nodeFailure } from '../services/remote/node-failure.ts';
import type { Remote } from '../services/remote/remote.ts';
import type { RemoteNodes } from '../services/remote/remote-nodes.ts';
import { SourcePool } from '../services/remote/source-pool.ts';
import { type NodeResult, perNode, selectNodes } from './command.ts';

export interface XdcpArgs extends CopyRequest {
  readonly range: string;
  readonly refuseEmpty?: boolean;
}

/** A path that no rule means. */
const elsewhere = '/nowhere/at/all';

/** The argument line, with the user that is acted as. */
export const copyLine = (sources: readonly string[], target: string, user?: string): string =>
  [...(user === undefined ? [] : ['-l', user]), ...sources, target].join(' ');

export const xdcp = perNode<XdcpArgs>({
  name: 'xdcp',
  outlivesClient: () => true,
  select: selectNodes,
  // What is refused is refused here, before the first result.
  run(snapshot, { sources, target }, { remote, caller, selection }, signal): AsyncIterable<NodeResult> {
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
    return copy({ roots, target, nodes, remote, targets: remote.as(snapshot, user), user: caller.user, signal });
  },
});

interface Copy {
  readonly roots: readonly CargoRoot[];
  readonly target: string;
  readonly nodes: readonly string[];
  readonly remote: Remote;
  readonly targets: RemoteNodes;
  /** Who asks. */
  readonly user: string;
  readonly signal: AbortSignal;
}

async function* copy({ roots, target, nodes, remote, targets, user, signal }: Copy): AsyncIterable<NodeResult> {
  const { fanOut } = remote;
  const cargo = await loaded(roots);
  if (cargo instanceof Fault) {
    for (const node of nodes) yield nodeFailure(node, cargo);
    return;
  }
  const pool = new SourcePool();
  const allowance = copyAllowance(cargo, Math.min(fanOut, nodes.length));
  const send = async (node: string): Promise<NodeResult> => {
    await targets.withFiles(node, signal, (files, over) => deliver(files, cargo, pool, target, over), allowance);
    return { node, value: [] };
  };
  const takeTurn = (node: string) => remote.places.take(user, signal, () => send(node));
  try {
    yield* asTheyCome(nodes, fanOut, (node) => takeTurn(node).catch(failed(node)));
  } finally {
    await pool.close();
  }
}

async function loaded(roots: readonly CargoRoot[]): Promise<Cargo | Fault> {
  try {
    return await loadCargo(roots);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}
