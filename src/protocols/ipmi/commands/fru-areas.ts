import { byteAt } from './bytes.ts';
import { decodeField } from './text.ts';

/** IPMI Platform Management FRU Information Storage Definition 1.3, sections 8 to 12. Checksums are not insisted on. */
const unit = 8;
const endOfFields = 0xc1;
/** Minutes in board dates count from 1996. */
const dateOrigin = Date.UTC(1996, 0, 1);

export interface FruOffsets {
  readonly chassis: number | undefined;
  readonly board: number | undefined;
  readonly product: number | undefined;
}

/** Where the areas start, from the eight bytes of the common header; undefined if this is no FRU data. */
export function decodeFruHeader(data: Buffer): FruOffsets | undefined {
  if (data.length < unit || (byteAt(data, 0) & 0x0f) !== 1) return undefined;
  const offset = (at: number) => (byteAt(data, at) === 0 ? undefined : byteAt(data, at) * unit);
  return { chassis: offset(2), board: offset(3), product: offset(4) };
}

/** The length of an area, from its first two bytes. */
export function areaLength(data: Buffer): number {
  return byteAt(data, 1) * unit;
}

function decodeFields(area: Buffer, start: number): string[] {
  const fields: string[] = [];
  for (let at = start; at < area.length && byteAt(area, at) !== endOfFields; ) {
    const field = decodeField(area, at, 'fru');
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
  const [partNumber = '', serialNumber = '', ...extra] = decodeFields(area, 3);
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
  const [manufacturer = '', description = '', serialNumber = '', model = '', ...rest] = decodeFields(area, 6);
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
  const fields = decodeFields(area, 3);
  const [manufacturer = '', description = '', model = '', revision = '', serialNumber = '', assetTag = ''] = fields;
  return { manufacturer, description, model, revision, serialNumber, assetTag, extra: fields.slice(7) };
}
