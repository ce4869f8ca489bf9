import { randomBytes } from 'node:crypto';
import type { Snapshot } from '../database/snapshot.ts';
import type { CommonParameters } from './parameters.ts';

/** Tags of one process do not outlive it: versions of tables count from its start. */
const epoch = randomBytes(6).toString('base64url');

/** A tag that changes whenever one of the tables does. */
export function entityTag(
  snapshot: Snapshot,
  tables: readonly string[],
  { pretty, xcoll, lists, debug }: CommonParameters,
): string {
  let version = 0;
  for (const table of tables) version = Math.max(version, snapshot.version(table));
  const form = Number(pretty) + 2 * Number(xcoll) + 4 * Number(lists) + 8 * Number(debug);
  return `"${epoch}.${version}.${form}"`;
}

export function matchesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((candidate) => {
    const trimmed = candidate.trim();
    return trimmed === '*' || trimmed.replace(/^W\//, '') === tag;
  });
}
