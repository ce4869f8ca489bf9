import type { BootNote, BootReports } from '../reports.ts';
import type { Found } from '../rooms/found.ts';

/** Keeps what a node has fetched, when it is known which node that was. */
export function noteFetch(
  reports: BootReports,
  found: Found,
  path: string,
  fetched: Pick<BootNote, 'at' | 'source' | 'bytes' | 'complete'>,
): void {
  const { node, step, leadsTo, problem } = found;
  if (node !== undefined) reports.note(node, { ...fetched, step, text: problem ?? path, leadsTo });
}
