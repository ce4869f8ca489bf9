import { asTheyCome } from '../core/as-they-come.ts';
import { Fault } from '../core/errors.ts';
import { actingUser, isAllowedByParameters } from '../services/remote/acting-user.ts';
import { type Cargo, type CargoRoot, loadCargo } from '../services/remote/cargo.ts';
import { copyAllowance } from '../services/remote/copy-allowance.ts';
import type { CopyRequest } from '../services/remote/copy-request.ts';
import { deliver } from '../services/remote/deliver.ts';
import { nodeFailure } from '../services/remote/node-failure.ts';
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
    return copy(roots, target, nodes, remote.as(snapshot, user), remote.fanOut, signal);
  },
});

async function* copy(
  roots: readonly CargoRoot[],
  target: string,
  nodes: readonly string[],
  targets: RemoteNodes,
  fanOut: number,
  signal: AbortSignal,
): AsyncIterable<NodeResult> {
  const cargo = await loaded(roots);
  if (cargo instanceof Fault) {
    for (const node of nodes) yield nodeFailure(node, cargo);
    return;
  }
  const pool = new SourcePool();
  const allowance = copyAllowance(cargo, Math.min(fanOut, nodes.length));
  const send = async (node: string): Promise<NodeResult> => {
    try {
      await targets.withFiles(node, signal, (files, over) => deliver(files, cargo, pool, target, over), allowance);
      return { node, value: [] };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return nodeFailure(node, error);
    }
  };
  try {
    yield* asTheyCome(nodes, fanOut, send);
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
