import { setImmediate as nextTurn } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import { abortFault } from './abort.ts';
import {
  closeList,
  comma,
  type Json,
  JsonScan,
  listAt,
  maximumValues,
  openList,
  parseJson,
  tooMuchFault,
} from './json.ts';

/** Of a whole text that is read in pieces; each piece has at most as many values as any resource. */
const mostValues = 400_000;
/** Bytes that are gone over before others get their turn: a few milliseconds. */
const scanned = 256 * 1024;
/** Bytes and values of the members that are parsed before others get their turn: a few milliseconds. */
const parsed = { bytes: 64 * 1024, values: 5_000 };
/** Of one member, and of all that is around the lists. */
const mostBytes = 1024 * 1024;

/** Which lists of a text are read in pieces. */
export interface WantedLists {
  /** The members that they are; of each name the first list counts. */
  readonly names: readonly string[];
  /** In how many objects they are. */
  readonly depth: number;
}

/** A run of members of a list, as offsets in the text. */
export interface Piece {
  readonly list: string;
  readonly from: number;
  readonly to: number;
}

/** Where the members of lists are, in runs that can be parsed in one go. */
export async function findPieces(
  bytes: Buffer,
  from: string,
  { names, depth: wantedDepth }: WantedLists,
  signal: AbortSignal,
): Promise<readonly Piece[]> {
  const pieces: Piece[] = [];
  const found = new Set<string>();
  let list: { name: string; from: number; values: number } | undefined;
  let outside = 0;
  const scan = new JsonScan(bytes, mostValues, (byte, depth, position, values) => {
    if (list === undefined) {
      const name = byte === openList && depth === wantedDepth ? nameBefore(bytes, position) : undefined;
      if (name === undefined || found.has(name) || !names.includes(name)) {
        outside++;
        return;
      }
      found.add(name);
      list = { name, from: position + 1, values };
    } else if (depth === wantedDepth + 1) {
      const [length, count] = [position - list.from, values - list.values];
      if (length > mostBytes || count > maximumValues) throw oversized(from);
      const isEnd = byte === closeList;
      const isLarge = length >= parsed.bytes || count >= parsed.values;
      if (!isEnd && !(byte === comma && isLarge)) return;
      pieces.push({ list: list.name, from: list.from, to: position });
      list = isEnd ? undefined : { ...list, from: position + 1, values };
    }
  });
  while (!scan.isDone) {
    const tooMuch = scan.run(scanned);
    if (tooMuch) throw tooMuchFault(tooMuch, from, mostValues);
    if (outside > maximumValues) throw tooMuchFault('values', from, maximumValues);
    await others(signal);
  }
  return pieces;
}

/** Parses the members, a few at a time, so that others are not held up. */
export async function eachMember(
  bytes: Buffer,
  from: string,
  pieces: readonly Piece[],
  take: (member: Json, list: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for (const piece of pieces) {
    const list = parseJson(`{"list":[${bytes.toString('utf8', piece.from, piece.to)}]}`, from);
    for (const member of listAt(list, 'list')) take(member, piece.list);
    await others(signal);
  }
}

/** What is left of a text without the members. */
export function around(bytes: Buffer, from: string, pieces: readonly Piece[]): Buffer {
  const [start, end] = [pieces[0]?.from ?? bytes.length, pieces.at(-1)?.to ?? bytes.length];
  const left = Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
  if (left.length > mostBytes) throw oversized(from);
  return left;
}

/** What the list that is opened here is called. */
const nameBefore = (bytes: Buffer, position: number): string | undefined =>
  /"(\w{1,40})"\s*:\s*$/.exec(bytes.toString('latin1', Math.max(0, position - 64), position))?.[1];

function oversized(from: string): Fault {
  return new Fault('garbled', `${from} has a part of more than ${mostBytes} bytes or ${maximumValues} values.`);
}

async function others(signal: AbortSignal): Promise<void> {
  await nextTurn();
  if (signal.aborted) throw abortFault(signal);
}
