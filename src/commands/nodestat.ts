import { asTheyCome } from '../core/as-they-come.ts';
import { Fault } from '../core/errors.ts';
import { ipText } from '../core/ip.ts';
import { type EffectiveReader, effectiveReader } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import { applicationStatus, type Sighting } from '../services/node-probes.ts';
import { type NodeResult, perNode, type Scope, selectNodes } from './command.ts';

export interface NodestatArgs {
  readonly range: string;
  readonly refuseEmpty?: boolean;
  /** Writes what was seen to `status` and `appstatus`. */
  readonly update?: boolean;
  /** Asks the hardware of nodes that do not answer whether they are on. */
  readonly power?: boolean;
}

/** Nodes looked at together: few enough to wait for in memory, enough to share processes and round trips. */
const atOnce = 20_000;

export const nodestat = perNode<NodestatArgs>({
  name: 'nodestat',
  select: selectNodes,
  async *run(snapshot, { update, power }, scope, signal): AsyncIterable<NodeResult> {
    const reader = effectiveReader(snapshot);
    const resolve = scope.hosts.resolve();
    const address = async (node: string): Promise<string | undefined> => {
      const ip = nodeAttribute(reader, node, 'ip') || undefined;
      if (ip !== undefined) return ip;
      const found = await resolve(node);
      return found && ipText(found);
    };
    const look = async (node: string): Promise<string> => {
      const at = await address(node);
      if (at === undefined) return `Please make sure ${node} exists in /etc/hosts or DNS or hosts table`;
      const seen = await scope.probes.look(at, signal);
      const state = await stateOf(reader, scope, node, at, seen, signal);
      if (update && !signal.aborted) note(scope, node, seen, state);
      return state;
    };
    const off: string[] = [];
    for await (const seen of asTheyCome(scope.selection.nodes ?? [], atOnce, (node) => seenOf(node, look))) {
      if (power && 'state' in seen && seen.state === 'noping') off.push(seen.node);
      else if ('error' in seen) yield seen;
      else yield { node: seen.node, value: { nodestat: seen.state } };
    }
    if (update) await scope.status.flush();
    const states = scope.hardware.each(
      snapshot,
      off,
      {
        command: 'nodestat',
        needs: 'power',
        user: scope.caller.user,
        run: (device, _node, aborted) => device.state(aborted),
      },
      signal,
    );
    for await (const result of states) {
      const told = 'error' in result ? result.error : result.value;
      yield { node: result.node, value: { nodestat: `noping(${told})` } };
    }
  },
});

type Seen = { readonly node: string } & ({ readonly state: string } | { readonly error: string });

/** An address that may not be looked at is the error of its node alone. */
async function seenOf(node: string, look: (node: string) => Promise<string>): Promise<Seen> {
  try {
    return { node, state: await look(node) };
  } catch (error) {
    if (error instanceof Fault) return { node, error: error.message };
    throw error;
  }
}

async function stateOf(
  reader: EffectiveReader,
  { probes }: Scope,
  node: string,
  address: string,
  { alive, applications }: Sighting,
  signal: AbortSignal,
): Promise<string> {
  if (!alive) return 'noping';
  if (applications.length > 0) return applications.join(',');
  const boots = nodeAttribute(reader, node, 'currstate') ?? '';
  const installing = boots.startsWith('install') ? await probes.installer(address, signal) : undefined;
  return installing ?? `ping ${boots}`.trim();
}

function note({ status }: Scope, node: string, { alive, applications }: Sighting, state: string): void {
  const shown = alive ? (state.startsWith('installing') ? 'installing' : 'alive') : 'unreachable';
  status.note(node, shown, applicationStatus(applications));
}
