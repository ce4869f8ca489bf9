import { type Ip, parseIp } from '../../core/ip.ts';
import { classIn, classNone, opcodeUpdate, typeCodes, writeLabels, writeName } from './names.ts';
import { headerBytes } from './message.ts';

export type RecordType = 'A' | 'AAAA' | 'PTR' | 'CNAME';

/**
 * What must stand at a name for the whole message to be done (RFC 2136 2.4): no alias, nothing at all, or exactly this alias. Without it
 * a server leaves out what does not go with an alias, and replaces one alias by another, without telling.
 */
export type Requirement = 'no-alias' | 'unused' | { readonly alias: string };

/** One record that is to be there or not to be there. */
export interface UpdateOperation {
  readonly remove: boolean;
  readonly name: string;
  readonly type: RecordType;
  /** An address, or a name without a dot at its end. */
  readonly data: string;
  readonly requires?: Requirement | undefined;
}

/** The largest that one operation or requirement can be: two names of 255 bytes and the fixed part. */
const largestOperation = 255 + 10 + 255;

/** Leaves room for the signature in the 65,535 bytes of a message over TCP. */
const largestMessage = 65_535 - 512;

export interface Batch {
  readonly message: Buffer;
  readonly taken: number;
}

const scratch = Buffer.allocUnsafe(largestMessage);
const updates = Buffer.allocUnsafe(largestMessage);

/**
 * An UPDATE (RFC 2136) of a zone with as many operations as fit and `limit` allows, from `from` on, and what they require; those of one
 * name that require an alias stand together and require the same. Removing names the record with its data, so other records of the name
 * and type stay. The id is for the sender to set.
 */
export function updateMessage(
  zone: string,
  operations: readonly UpdateOperation[],
  from: number,
  limit: number,
  ttl: number,
): Batch {
  let at = writeHead(zone);
  let end = 0;
  let taken = 0;
  let required = 0;
  let requiredOf = '';
  while (taken < limit && from + taken < operations.length && at + end + 2 * largestOperation <= largestMessage) {
    const operation = operations[from + taken]!;
    // Once for each name: the same alias required twice would be two aliases, which no name has.
    if (operation.requires !== undefined && operation.name !== requiredOf) {
      at = writeRequirement(scratch, at, zone, operation.name, operation.requires);
      requiredOf = operation.name;
      required++;
    }
    end = writeOperation(updates, end, zone, operation, ttl);
    taken++;
  }
  return { message: whole(at, end, required, taken), taken };
}

/** An update that changes nothing and is done only if the requirement is met. */
export function requirementMessage(zone: string, name: string, requirement: Requirement): Buffer {
  return whole(writeRequirement(scratch, writeHead(zone), zone, name, requirement), 0, 1, 0);
}

function writeHead(zone: string): number {
  scratch.fill(0, 0, headerBytes);
  scratch[2] = opcodeUpdate << 3;
  scratch.writeUInt16BE(1, 4);
  const at = scratch.writeUInt16BE(typeCodes.SOA, writeName(scratch, headerBytes, zone));
  return scratch.writeUInt16BE(classIn, at);
}

function whole(at: number, end: number, required: number, taken: number): Buffer {
  scratch.writeUInt16BE(required, 6);
  scratch.writeUInt16BE(taken, 8);
  return Buffer.concat([scratch.subarray(0, at), updates.subarray(0, end)]);
}

function writeRequirement(bytes: Buffer, start: number, zone: string, name: string, requires: Requirement): number {
  if (typeof requires === 'object')
    return writeOperation(bytes, start, zone, { remove: false, name, type: 'CNAME', data: requires.alias }, 0);
  let at = writeOwner(bytes, start, zone, name);
  at = bytes.writeUInt16BE(requires === 'unused' ? typeCodes.ANY : typeCodes.CNAME, at);
  at = bytes.writeUInt16BE(classNone, at);
  at = bytes.writeUInt32BE(0, at);
  return bytes.writeUInt16BE(0, at);
}

function writeOperation(bytes: Buffer, start: number, zone: string, operation: UpdateOperation, ttl: number): number {
  const { remove, name, type, data } = operation;
  let at = writeOwner(bytes, start, zone, name);
  at = bytes.writeUInt16BE(typeCodes[type], at);
  at = bytes.writeUInt16BE(remove ? classNone : classIn, at);
  at = bytes.writeUInt32BE(remove ? 0 : ttl, at);
  const end = writeData(bytes, at + 2, type, data);
  bytes.writeUInt16BE(end - at - 2, at);
  return end;
}

/** The part in front of the zone and a pointer to the zone's name, which follows the header. */
function writeOwner(bytes: Buffer, at: number, zone: string, name: string): number {
  const front = name.length - zone.length - 1;
  if (front > 0 && name.charCodeAt(front) === 46 && name.endsWith(zone)) {
    return bytes.writeUInt16BE(0xc000 | headerBytes, writeLabels(bytes, at, name, front));
  }
  return name === zone ? bytes.writeUInt16BE(0xc000 | headerBytes, at) : writeName(bytes, at, name);
}

function writeData(bytes: Buffer, at: number, type: RecordType, data: string): number {
  if (type === 'PTR' || type === 'CNAME') return writeName(bytes, at, data);
  const ip = parseIp(data);
  if (!ip || ip.family !== (type === 'A' ? 4 : 6)) throw new Error(`"${data}" is not the data of an ${type} record`);
  return writeAddress(bytes, at, ip);
}

function writeAddress(bytes: Buffer, at: number, { family, value }: Ip): number {
  if (family === 4) return bytes.writeUInt32BE(Number(value), at);
  bytes.writeBigUInt64BE(value >> 64n, at);
  return bytes.writeBigUInt64BE(value & 0xffff_ffff_ffff_ffffn, at + 8);
}

export function queryMessage(name: string, type: number): Buffer {
  const bytes = Buffer.alloc(headerBytes + 255 + 4);
  let at = writeName(bytes, headerBytes, name);
  at = bytes.writeUInt16BE(type, at);
  at = bytes.writeUInt16BE(classIn, at);
  bytes.writeUInt16BE(1, 4);
  return bytes.subarray(0, at);
}
