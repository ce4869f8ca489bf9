import { asTheyCome } from '../core/as-they-come.ts';
import { Fault } from '../core/errors.ts';
import { type IpKind, ipKind, ipText, parseIp } from '../core/ip.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { type EffectiveReader, effectiveReader } from '../objects/effective.ts';
import type { Resolve } from '../objects/host-names.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import {
  type Application,
  applicationStatus,
  monitoredApplications,
  usualApplications,
} from '../services/node-applications.ts';
import { type NodeResult, perNode, type Scope, selectNodes } from './command.ts';

export interface NodestatArgs {
  readonly range: string;
  readonly refuseEmpty?: boolean;
  /** Writes what was seen to `status` and `appstatus`. */
  readonly update?: boolean;
  /** Asks the hardware of nodes that do not answer whether they are on. */
  readonly power?: boolean;
  /** Looks for the applications that table monsetting names. */
  readonly monitored?: boolean;
}

/** Nodes looked at together: few enough to wait for in memory, enough to share processes and round trips. */
const atOnce = 20_000;

export const nodestat = perNode<NodestatArgs>({
  name: 'nodestat',
  select: selectNodes,
  // What is refused is refused here, before the first result.
  run(snapshot, args, scope, signal): AsyncIterable<NodeResult> {
    const applications = args.monitored ? monitoredApplications(snapshot) : usualApplications;
    return lookAtAll(snapshot, args, applications, scope, signal);
  },
});

async function* lookAtAll(
  snapshot: Snapshot,
  { update, power }: NodestatArgs,
  applications: readonly Application[],
  scope: Scope,
  signal: AbortSignal,
): AsyncIterable<NodeResult> {
  const reader = effectiveReader(snapshot);
  const resolve = scope.hosts.resolve();
  const look = async (node: string): Promise<Seen> => {
    const address = await addressOf(reader, resolve, node);
    if (address === undefined)
      return { node, state: `Please make sure ${node} exists in /etc/hosts or DNS or hosts table` };
    const wanted = applications.filter(({ nodes }) => nodes?.has(node) ?? true);
    const { alive, applications: running } = await scope.probes.look(address, wanted, signal);
    const seen = alive ? await stateOf(reader, scope, node, address, running, signal) : away;
    if (update && !signal.aborted) scope.status.keep(node, seen.status, applicationStatus(wanted, running));
    return { node, ...seen };
  };
  const off: string[] = [];
  for await (const seen of asTheyCome(scope.selection.nodes ?? [], atOnce, (node) => seenOf(node, look))) {
    if ('error' in seen) yield seen;
    else if (power && seen.status === away.status) off.push(seen.node);
    else yield { node: seen.node, value: { nodestat: seen.state } };
  }
  if (update) await scope.status.flush();
  yield* powerOf(snapshot, off, scope, signal);
}

async function* powerOf(
  snapshot: Snapshot,
  nodes: readonly string[],
  { hardware, caller }: Scope,
  signal: AbortSignal,
): AsyncIterable<NodeResult> {
  const states = hardware.each(
    snapshot,
    nodes,
    { command: 'nodestat', needs: 'power', user: caller.user, run: (device, _node, aborted) => device.state(aborted) },
    signal,
  );
  for await (const result of states) {
    const told = 'error' in result ? result.error : result.value;
    yield { node: result.node, value: { nodestat: `${away.state}(${told})` } };
  }
}

/** What is shown of a node, and what is kept of it where anything is. */
interface State {
  readonly state: string;
  readonly status?: string;
}
type Seen = { readonly node: string } & State;

const away = { state: 'noping', status: 'unreachable' };

/** An address that may not be looked at is the error of its node alone. */
async function seenOf(
  node: string,
  look: (node: string) => Promise<Seen>,
): Promise<Seen | { readonly node: string; readonly error: string }> {
  try {
    return await look(node);
  } catch (error) {
    if (error instanceof Fault) return { node, error: error.message };
    throw error;
  }
}

/** Addresses that belong to one machine. */
const ownKinds: readonly IpKind[] = ['host', 'loopback', 'link-local'];

/** Always a number: names are looked up here and nowhere else. */
async function addressOf(reader: EffectiveReader, resolve: Resolve, node: string): Promise<string | undefined> {
  const given = nodeAttribute(reader, node, 'ip') || node;
  const ip = parseIp(given) ?? (await resolve(given));
  if (!ip) return undefined;
  // Others, or this machine, would answer for the node.
  if (!ownKinds.includes(ipKind(ip)))
    throw new Fault('invalid', `its address ${ipText(ip)} is none that a node can have.`);
  return ipText(ip);
}

async function stateOf(
  reader: EffectiveReader,
  { probes }: Scope,
  node: string,
  address: string,
  running: readonly string[],
  signal: AbortSignal,
): Promise<Required<State>> {
  const alive = 'alive';
  if (running.length > 0) return { state: running.join(','), status: alive };
  const boots = nodeAttribute(reader, node, 'currstate') ?? '';
  const installing = boots.startsWith('install') ? await probes.installer(address, signal) : undefined;
  if (installing !== undefined) return { state: installing, status: 'installing' };
  return { state: `ping ${boots}`.trim(), status: alive };
}
