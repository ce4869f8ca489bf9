import type { IpmiLink } from '../link.ts';
import { busyPauses, completion, pause, refusal, send } from './ask.ts';
import { atLeast, byteAt, decodeField, garbled, type TextCoding, uint16 } from './bytes.ts';

/** IPMI 2.0 section 34: FRU inventory commands. */
const storage = 0x0a;
const commands = { getAreaInfo: 0x10, read: 0x11 };
const readSizes: readonly number[] = [64, 32, 16, 8];
const shrinkOn: readonly number[] = [completion.cannotReturn, completion.tooLong, completion.unspecified, 0xc7, 0xc9];

/** 34.2: the part is in use at the moment. */
const fruBusy = 0x81;

interface FruReader {
  readonly link: IpmiLink;
  readonly id: number;
  readonly size: number;
  /** Offsets and counts are in words of two bytes. */
  readonly words: boolean;
  readonly signal: AbortSignal;
  step: number;
}

/** Undefined: no such device, or nothing in it. */
async function open(link: IpmiLink, id: number, signal: AbortSignal): Promise<FruReader | undefined> {
  const request = { netfn: storage, command: commands.getAreaInfo, data: Buffer.of(id) };
  const response = await send(link, request, signal);
  if (response.code !== completion.ok) return undefined;
  const data = atLeast(response.data, 3, 'Get FRU Inventory Area Info');
  return { link, id, size: data.readUInt16LE(0), words: (byteAt(data, 2) & 1) !== 0, signal, step: 0 };
}

async function readPiece(reader: FruReader, offset: number, wanted: number): Promise<Buffer> {
  const scale = reader.words ? 2 : 1;
  for (let pauses = 0; ; ) {
    const count = Math.ceil(Math.min(wanted, readSizes[reader.step] ?? 8) / scale);
    const data = Buffer.of(reader.id, ...uint16(Math.floor(offset / scale)), count);
    const response = await send(reader.link, { netfn: storage, command: commands.read, data }, reader.signal);
    if (response.code === completion.ok) {
      const answer = atLeast(response.data, 2, 'Read FRU Data');
      return answer.subarray(1, 1 + Math.min(byteAt(answer, 0), count) * scale);
    }
    const wait = busyPauses[pauses];
    if (response.code === fruBusy && wait !== undefined) {
      pauses += 1;
      await pause(wait, reader.signal);
      continue;
    }
    if (!shrinkOn.includes(response.code) || reader.step + 1 >= readSizes.length) {
      throw refusal('Read FRU Data', response.code, { [fruBusy]: 'the part is busy' });
    }
    reader.step += 1;
  }
}

async function readBytes(reader: FruReader, from: number, length: number): Promise<Buffer> {
  const end = Math.min(from + length, reader.size);
  const pieces: Buffer[] = [];
  for (let at = from; at < end; ) {
    const piece = await readPiece(reader, at, end - at);
    if (piece.length === 0) throw garbled('Read FRU Data', piece);
    pieces.push(piece);
    at += piece.length;
  }
  return Buffer.concat(pieces).subarray(0, Math.max(0, end - from));
}

async function readArea(reader: FruReader, offset: number): Promise<Buffer> {
  const head = await readBytes(reader, offset, 8);
  const length = areaLength(head);
  return length <= head.length
    ? head
    : Buffer.concat([head, await readBytes(reader, offset + head.length, length - head.length)]);
}

export interface Fru {
  readonly chassis: ChassisArea | undefined;
  readonly board: BoardArea | undefined;
  readonly product: ProductArea | undefined;
}

/** The areas of a FRU device; undefined if there is no such device or it holds no FRU data. */
export async function readFru(link: IpmiLink, id: number, signal: AbortSignal): Promise<Fru | undefined> {
  const reader = await open(link, id, signal);
  if (reader === undefined || reader.size < 8) return undefined;
  const offsets = decodeFruHeader(await readBytes(reader, 0, 8));
  if (offsets === undefined) return undefined;
  return {
    chassis: offsets.chassis === undefined ? undefined : decodeChassisArea(await readArea(reader, offsets.chassis)),
    board: offsets.board === undefined ? undefined : decodeBoardArea(await readArea(reader, offsets.board)),
    product: offsets.product === undefined ? undefined : decodeProductArea(await readArea(reader, offsets.product)),
  };
}

/** IPMI Platform Management FRU Information Storage Definition 1.3, sections 8 to 12. Checksums are not insisted on. */
const unit = 8;
const endOfFields = 0xc1;
/** Minutes in board dates count from 1996. */
const dateOrigin = Date.UTC(1996, 0, 1);

/** Where the areas start, from the eight bytes of the common header; undefined if this is no FRU data. */
export function decodeFruHeader(data: Buffer) {
  if (data.length < unit || (byteAt(data, 0) & 0x0f) !== 1) return undefined;
  const offset = (at: number) => (byteAt(data, at) === 0 ? undefined : byteAt(data, at) * unit);
  return { chassis: offset(2), board: offset(3), product: offset(4) };
}

/** The length of an area, from its first two bytes. */
export function areaLength(data: Buffer): number {
  return byteAt(data, 1) * unit;
}

/** FRU 1.3 section 15: language codes 0 and 25 are English. */
const english: readonly number[] = [0, 25];
const codingOf = (area: Buffer): TextCoding => (english.includes(byteAt(area, 2)) ? 'fru' : 'fru-utf16');

function decodeFields(area: Buffer, start: number, coding: TextCoding): string[] {
  const fields: string[] = [];
  for (let at = start; at < area.length && byteAt(area, at) !== endOfFields; ) {
    const field = decodeField(area, at, coding);
    fields.push(field.text);
    at = field.next;
  }
  return fields;
}

export interface ChassisArea {
  readonly partNumber: string;
  readonly serialNumber: string;
  readonly extra: readonly string[];
}

export function decodeChassisArea(area: Buffer): ChassisArea {
  const [partNumber = '', serialNumber = '', ...extra] = decodeFields(area, 3, 'fru');
  return { partNumber, serialNumber, extra };
}

export interface BoardArea {
  readonly manufactured: Date | undefined;
  readonly manufacturer: string;
  readonly description: string;
  readonly serialNumber: string;
  readonly model: string;
  readonly extra: readonly string[];
}

export function decodeBoardArea(area: Buffer): BoardArea {
  const minutes = byteAt(area, 3) | (byteAt(area, 4) << 8) | (byteAt(area, 5) << 16);
  const [manufacturer = '', description = '', serialNumber = '', model = '', ...rest] = decodeFields(
    area,
    6,
    codingOf(area),
  );
  const manufactured = minutes === 0 ? undefined : new Date(dateOrigin + minutes * 60_000);
  // Behind the model stands the name of a file that nobody needs.
  return { manufactured, manufacturer, description, serialNumber, model, extra: rest.slice(1) };
}

export interface ProductArea {
  readonly manufacturer: string;
  readonly description: string;
  readonly model: string;
  readonly revision: string;
  readonly serialNumber: string;
  readonly assetTag: string;
  readonly extra: readonly string[];
}

export function decodeProductArea(area: Buffer): ProductArea {
  const fields = decodeFields(area, 3, codingOf(area));
  const [manufacturer = '', description = '', model = '', revision = '', serialNumber = '', assetTag = ''] = fields;
  return { manufacturer, description, model, revision, serialNumber, assetTag, extra: fields.slice(7) };
}
