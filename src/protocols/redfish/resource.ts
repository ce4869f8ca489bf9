import type { Reply } from './exchange.ts';
import { at, type Json, objectIn, parseJson, parseResource, textAt } from './json.ts';
import { around, eachMember, findPieces } from './pieces.ts';
import { header } from './session.ts';

export interface Resource {
  readonly path: string;
  readonly body: Readonly<Record<string, Json>>;
  readonly etag: string | undefined;
}

const nameOf = (path: string): string => `what its BMC answered to GET ${path}`;

export function resourceIn(path: string, reply: Reply): Resource {
  return resource(path, reply, parseResource(reply.bytes, nameOf(path)));
}

/** The same of a collection, which may be large. */
export async function collectionIn(path: string, reply: Reply, signal: AbortSignal): Promise<Resource> {
  return resource(path, reply, await parseCollection(reply.bytes, nameOf(path), signal));
}

function resource(path: string, reply: Reply, body: Resource['body']): Resource {
  return { path, body, etag: header(reply, 'etag') ?? textAt(body, '@odata.etag') };
}

/** Up to this size a text is read in one go. */
const small = 64 * 1024;

/** Like `parseResource`, for collections with many members: these are parsed a few at a time, so that others are not held up. */
async function parseCollection(
  bytes: Buffer,
  from: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, Json>>> {
  if (bytes.length <= small) return parseResource(bytes, from);
  const pieces = await findPieces(bytes, from, { names: ['Members'], depth: 1 }, signal);
  const body = objectIn(parseJson(around(bytes, from, pieces).toString('utf8'), from), from);
  const members: Json[] = [];
  await eachMember(bytes, from, pieces, (member) => members.push(member), signal);
  return pieces.length === 0 ? body : { ...body, Members: members };
}

/** Whether all that a change names is so already. */
export function isSet(body: Json, change: Json): boolean {
  return everywhere(change, [body], ([now], wanted) => isEqual(now, wanted));
}

/** Whether all that a change names is in two states the same. */
export function isSameIn(before: Json, now: Json, change: Json): boolean {
  return everywhere(change, [before, now], ([a, b]) => isEqual(a, b));
}

/** The values a change names, each beside what the states have in its place; arrays of objects are changed by position. */
function everywhere(
  change: Json,
  states: readonly Json[],
  holds: (states: readonly Json[], wanted: Json) => boolean,
): boolean {
  if (typeof change !== 'object' || change === null) return holds(states, change);
  if (Array.isArray(change) && !change.every((item) => typeof item === 'object' && item !== null))
    return holds(states, change);
  return Object.entries(change).every(([name, wanted]) =>
    everywhere(
      wanted,
      states.map((state) => at(state, name)),
      holds,
    ),
  );
}

const isEqual = (a: Json, b: Json): boolean => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
