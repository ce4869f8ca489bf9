import { nearest } from '../core/nearest.ts';
import type { Invocation } from './invocation.ts';

const mostNames = 5;

/**
 * Says which nodes or groups may have been meant by names of a range that nothing has. Only at a terminal: scripts read what they know. The
 * names come from the server, which shows a caller only those of theirs.
 */
export async function suggestNames({ client, stderr }: Pick<Invocation, 'client' | 'stderr'>): Promise<void> {
  const known: string[] = [];
  for (const at of ['/groups', '/nodes']) known.push(...((await client.get(at).catch(() => [])) as string[]));
  for (const name of client.unknownNames.slice(0, mostNames)) {
    const meant = nearest(name, known);
    if (meant !== undefined) stderr.line(`There is no ${name}. Did you mean ${meant}?`);
  }
}
