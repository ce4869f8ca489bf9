import { randomBytes } from 'node:crypto';
import { tagsIn } from '../../core/entity-tag.ts';
import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { Precondition } from '../../dispatch/request.ts';
import type { CommonParameters } from './parameters.ts';

/** Whether the client sent this preference (RFC 7240), such as `respond-async` or `handling=lenient`. */
export const prefers = (header: string | string[] | undefined, preference: string): boolean =>
  header !== undefined &&
  [header]
    .flat()
    .flatMap((line) => line.split(','))
    .some((each) => each.split(';', 1)[0]!.replaceAll(/[\s"]/g, '').toLowerCase() === preference);

/** Would rather hear of the run at once than wait for its end. */
export const respondAsync = 'respond-async';
/** Takes what went well together with what did not. */
export const lenient = 'handling=lenient';
/** Programs that report errors in words of their own: error bodies say the kind of error and the unknown names too. */
export const detailedErrors = 'errors=detailed';

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

/** What the tags of all forms of a reply begin with; it changes whenever one of the tables does. */
const content = (snapshot: Snapshot, tables: readonly string[]): string =>
  `"${epoch}.${latestVersion(snapshot, tables)}.`;

export function entityTag(
  snapshot: Snapshot,
  tables: readonly string[],
  { pretty, xcoll, lists, debug }: CommonParameters,
): string {
  const form = Number(pretty) + 2 * Number(xcoll) + 4 * Number(lists) + 8 * Number(debug);
  return `${content(snapshot, tables)}${form}"`;
}

/** What If-Match asks of the state that a write is made on: that what it shows is what one of the tags was given for. */
export function preconditionOf(header: string | undefined): Precondition | undefined {
  if (header === undefined) return undefined;
  const tags = tagsIn(header);
  return (snapshot, tables, exists) => {
    if (tags.includes('*') && exists) return;
    if (tables && tags.some((tag) => tag.startsWith(content(snapshot, tables)))) return;
    const reason = tables ? 'What it is about has changed since; read it again.' : 'Nothing here has an ETag.';
    throw new Fault('precondition', `If-Match does not hold, and nothing was done. ${reason}`);
  };
}
