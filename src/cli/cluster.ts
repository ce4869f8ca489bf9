import { Refused } from './client-errors.ts';
import type { Client } from './client.ts';

export type NodeAttributes = Readonly<Record<string, string>>;

/** All nodes with their attributes; none where there are none. */
export async function allNodes(client: Client): Promise<Readonly<Record<string, NodeAttributes>>> {
  try {
    return (await client.get('/nodes/all')) as Record<string, NodeAttributes>;
  } catch (error) {
    // Before the first node there is no group of all of them either.
    if (error instanceof Refused && (error.isEmpty || error.kind === 'unknown-object')) return {};
    throw error;
  }
}

export const groupsOf = ({ groups = '' }: NodeAttributes): string[] => groups.split(',').filter(Boolean);

/** Nodes by their groups. */
export function membersByGroup(nodes: Readonly<Record<string, NodeAttributes>>): Map<string, string[]> {
  const members = new Map<string, string[]>();
  for (const [node, attributes] of Object.entries(nodes))
    for (const group of groupsOf(attributes)) {
      const list = members.get(group);
      if (list) list.push(node);
      else members.set(group, [node]);
    }
  return members;
}
