import { setImmediate as nextTurn } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import { abortFault } from './abort.ts';
import type { Reply } from './exchange.ts';
import {
  at,
  closeList,
  comma,
  type Json,
  JsonScan,
  listAt,
  maximumValues,
  objectIn,
  openList,
  parseJson,
  parseResource,
  textAt,
  tooMuchFault,
} from './json.ts';
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

/** Of a whole collection; each of its members has at most as many values as any resource. */
const maximumCollectionValues = 400_000;
/** Up to this size a text is read in one go. */
const small = 64 * 1024;
/** Bytes that are gone over before others get their turn: a few milliseconds. */
const scanned = 256 * 1024;
/** Bytes and values of the members that are parsed before others get their turn: a few milliseconds. */
const parsed = { bytes: 64 * 1024, values: 5_000 };
/** Of one member, and of all that is around the members. */
const maximumPiece = 1024 * 1024;

/** A run of members, as offsets in the text. */
interface Piece {
  readonly from: number;
  readonly to: number;
}

/** Like `parseResource`, for collections with many members: these are parsed a few at a time, so that others are not held up. */
async function parseCollection(
  bytes: Buffer,
  from: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, Json>>> {
  if (bytes.length <= small) return parseResource(bytes, from);
  const pieces = await findMembers(bytes, from, signal);
  const [start, end] = [pieces[0]?.from ?? bytes.length, pieces.at(-1)?.to ?? bytes.length];
  const around = Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
  if (around.length > maximumPiece) throw oversized(from);
  const body = objectIn(parseJson(around.toString('utf8'), from), from);
  const members: Json[] = [];
  for (const piece of pieces) {
    const list = parseJson(`{"list":[${bytes.toString('utf8', piece.from, piece.to)}]}`, from);
    for (const member of listAt(list, 'list')) members.push(member);
    await others(signal);
  }
  return pieces.length === 0 ? body : { ...body, Members: members };
}

/** Where the members of the outermost object are. */
async function findMembers(bytes: Buffer, from: string, signal: AbortSignal): Promise<readonly Piece[]> {
  const pieces: Piece[] = [];
  let list: { from: number; values: number } | undefined;
  let outside = 0;
  const scan = new JsonScan(bytes, maximumCollectionValues, (byte, depth, position, values) => {
    if (byte === openList && depth === 1 && pieces.length === 0 && isMembers(bytes, position)) {
      list = { from: position + 1, values };
    } else if (list === undefined) {
      outside++;
    } else if (depth === 2) {
      const [length, count] = [position - list.from, values - list.values];
      if (length > maximumPiece || count > maximumValues) throw oversized(from);
      const isEnd = byte === closeList;
      const isLarge = length >= parsed.bytes || count >= parsed.values;
      if (!isEnd && !(byte === comma && isLarge)) return;
      pieces.push({ from: list.from, to: position });
      list = isEnd ? undefined : { from: position + 1, values };
    }
  });
  while (!scan.isDone) {
    const tooMuch = scan.run(scanned);
    if (tooMuch) throw tooMuchFault(tooMuch, from, maximumCollectionValues);
    if (outside > maximumValues) throw tooMuchFault('values', from, maximumValues);
    await others(signal);
  }
  return pieces;
}

/** Whether the list that is opened here is called Members. */
function isMembers(bytes: Buffer, position: number): boolean {
  return /"Members"\s*:\s*$/.test(bytes.toString('latin1', Math.max(0, position - 64), position));
}

function oversized(from: string): Fault {
  return new Fault('garbled', `${from} has a part of more than ${maximumPiece} bytes or ${maximumValues} values.`);
}

async function others(signal: AbortSignal): Promise<void> {
  await nextTurn();
  if (signal.aborted) throw abortFault(signal);
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
