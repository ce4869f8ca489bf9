import { randomBytes } from 'node:crypto';
import type { Snapshot } from '../database/snapshot.ts';
import type { CommonParameters } from './parameters.ts';

/** Tags of one process do not outlive it: after a backup was restored, versions of tables count again from where it was made. */
const epoch = randomBytes(6).toString('base64url');

let latest: { snapshot: Snapshot; tables: readonly string[]; version: number } | undefined;

/** The sequence of the snapshot in which one of the tables last changed. Most requests ask what the one before asked. */
function latestVersion(snapshot: Snapshot, tables: readonly string[]): number {
  if (latest?.snapshot === snapshot && latest.tables === tables) return latest.version;
  let version = 0;
  for (const table of tables) version = Math.max(version, snapshot.version(table));
  latest = { snapshot, tables, version };
  return version;
}

/** A tag that changes whenever one of the tables does. */
export function entityTag(
  snapshot: Snapshot,
  tables: readonly string[],
  { pretty, xcoll, lists, debug }: CommonParameters,
): string {
  const version = latestVersion(snapshot, tables);
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
