import { bareText } from '../../../objects/claims.ts';
import type { Fact, Found, NodeIdentity } from './facts.ts';
import { spellings } from './facts.ts';
import type { Machine } from './machine.ts';

/** Which node a machine is. */
export type Match =
  | { readonly kind: 'node'; readonly node: string; readonly by: readonly Fact[] }
  /** It may not be the node that it seems to be. */
  | { readonly kind: 'refused'; readonly sentence: string }
  | { readonly kind: 'none' };

/**
 * A machine is a node if facts of it speak of that node and of no other, and nothing that is defined of the node speaks against it: a
 * node that has a machine keeps it, since what a machine says of itself costs nothing to say.
 */
export function match(machine: Machine, found: readonly Found[], identityOf: (node: string) => NodeIdentity): Match {
  const nodes = new Set(found.flatMap((one) => one.nodes));
  const [node] = nodes;
  if (node === undefined) return { kind: 'none' };
  if (nodes.size > 1)
    return {
      kind: 'refused',
      sentence: `It may be any of ${nodes.size} nodes: ${found.map(foundText).join('; ')}. Correct what is wrong in their definitions.`,
    };
  const objection = objectionTo(machine, node, found, identityOf(node));
  if (objection !== undefined) return { kind: 'refused', sentence: objection };
  return { kind: 'node', node, by: [...new Set(found.map(({ fact }) => fact))] };
}

const mostNamed = 4;

const foundText = ({ what, nodes }: Found): string => {
  const more = nodes.length > mostNamed ? ` and ${nodes.length - mostNamed} more` : '';
  return `${what} is that of ${nodes.slice(0, mostNamed).join(', ')}${more}`;
};

function objectionTo(
  { mac, macs, uuid, serial }: Machine,
  node: string,
  found: readonly Found[],
  identity: NodeIdentity,
): string | undefined {
  // It boots as this node anyway, and the node learns nothing from it.
  if (identity.macs.includes(mac)) return undefined;
  const because = `It is ${node} by ${found[0]!.what}`;
  const known = identity.macs.find((each) => macs.includes(each));
  if (known !== undefined)
    return `${because}, but has booted from ${mac}, which ${node} does not have: let it boot from ${known}, or change the attribute mac of ${node}.`;
  if (identity.macs.length > 0)
    return `${because}, but ${node} is the machine with the MAC ${identity.macs[0]} already. If this one takes its place, clear the attribute mac of ${node}.`;
  const other = (what: string, own: string, defined: string): string =>
    `${because}, but its ${what} is ${own} and that of ${node} ${defined}. Correct the definition of ${node}, or clear it.`;
  if (uuid !== undefined && identity.uuid !== undefined && !spellings(uuid).includes(identity.uuid))
    return other('UUID', uuid, identity.uuid);
  if (serial !== undefined && identity.serial !== undefined && bareText(serial) !== bareText(identity.serial))
    return other('serial number', serial, identity.serial);
  return undefined;
}

/** Whether a node waits for no machine in particular, so that any may be it. */
export const isFree = ({ macs, uuid, serial, ports }: NodeIdentity): boolean =>
  macs.length === 0 && uuid === undefined && serial === undefined && ports.length === 0;
