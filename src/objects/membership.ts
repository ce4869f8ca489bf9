import { Fault } from '../core/errors.ts';
import type { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { expandRange, knownNodes, mostUnknownNames, type RangeOptions } from './cluster.ts';
import { listItems } from './effective.ts';
import { staticMembers } from './groups.ts';
import type { Mode } from './assign.ts';

/** Makes the given range the group's members, or adds it to them, or takes it from them. */
export function assignMembers(draft: Draft, group: string, range: string, mode: Mode, options: RangeOptions): void {
  const named = new Set(range.trim() === '' ? [] : knownNodes(draft.base, range, options));
  const groupsOf = (node: string) => listItems(draft.get('nodelist', node)?.['groups'] ?? '');
  const present = new Set(staticMembers(draft.base, group).filter((node) => groupsOf(node).includes(group)));
  if (mode === 'remove') {
    for (const node of named) {
      if (!present.has(node)) throw new Fault('invalid', `${node} is not a member of group "${group}".`);
      leaveGroup(draft, node, group);
    }
    return;
  }
  if (mode === 'set') for (const node of present) if (!named.has(node)) leaveGroup(draft, node, group);
  for (const node of named) if (!present.has(node)) joinGroup(draft, node, group);
}

/** The nodes of a range, apart from the names that no node has. */
export function knownMembers(
  snapshot: Snapshot,
  range: string,
  options: RangeOptions,
): { known: readonly string[]; unknown: readonly string[] } {
  const { nodes, missed } = expandRange(snapshot, range, { ...options, mostUnknown: mostUnknownNames });
  return { known: nodes, unknown: missed };
}

/** A joined group comes last, so that it gives way to the node's other groups. */
function joinGroup(draft: Draft, node: string, group: string): void {
  const groups = listItems(draft.get('nodelist', node)?.['groups'] ?? '');
  draft.merge('nodelist', node, { groups: [...groups, group].join(',') });
}

export function leaveGroup(draft: Draft, node: string, group: string): void {
  const groups = listItems(draft.get('nodelist', node)?.['groups'] ?? '');
  draft.merge('nodelist', node, { groups: groups.filter((name) => name !== group).join(',') });
}
