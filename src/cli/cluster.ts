import { Refused } from './client-errors.ts';
import type { Client } from './client.ts';
import { groupFromServer, nodeFromServer } from './names-from-server.ts';

export type NodeAttributes = Readonly<Record<string, string>>;

/** All nodes with their attributes; none where there are none. Their names go into files of other programs. */
export async function allNodes(client: Client): Promise<Readonly<Record<string, NodeAttributes>>> {
  try {
    const nodes = (await client.get('/nodes/all')) as Record<string, NodeAttributes>;
    Object.keys(nodes).forEach(nodeFromServer);
    return nodes;
  } catch (error) {
    // Before the first node there is no group of all of them either.
    if (error instanceof Refused && (error.isEmpty || error.kind === 'unknown-object')) return {};
    throw error;
  }
}

export const groupsOf = ({ groups = '' }: NodeAttributes): string[] =>
  groups.split(',').filter(Boolean).map(groupFromServer);

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

/** The address, if other programs can read nothing else into it. */
export const addressOf = ({ ip = '' }: NodeAttributes): string | undefined =>
  /^[A-Za-z0-9][A-Za-z0-9._:-]*$/.test(ip) ? ip : undefined;
