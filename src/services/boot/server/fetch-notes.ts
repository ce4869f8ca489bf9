import type { BootNote, BootReports } from '../reports.ts';
import type { Found } from '../rooms/found.ts';

/** Keeps what a node has fetched, when it is known which node that was, and that somebody else has asked for what is the node's. */
export function noteFetch(
  reports: BootReports,
  found: Found,
  path: string,
  address: string,
  fetched: Pick<BootNote, 'at' | 'source' | 'bytes' | 'complete'>,
): void {
  const { node, foreignNode, step, leadsTo, problem } = found;
  if (foreignNode !== undefined) reports.noteForeign(foreignNode, { address, at: fetched.at });
  if (node !== undefined) reports.note(node, { ...fetched, step, text: problem ?? withoutToken(path, node), leadsTo });
}

const ownKinds: ReadonlySet<string> = new Set(['answer', 'authorized-keys', 'postscripts', 'statelite']);

/** What only a node gets lies below `boot/KIND/NODE/TOKEN`; who may see how far it is need not be able to do what it can. */
function withoutToken(path: string, node: string): string {
  const [first, kind, owner, token, ...rest] = path.split('/');
  const isOwn = first === 'boot' && ownKinds.has(kind ?? '') && owner === node && token !== undefined;
  return isOwn ? [first, kind, owner, ...rest].join('/') : path;
}
