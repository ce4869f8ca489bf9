import { Fault } from '../../../core/errors.ts';
import type { IpmiLink } from '../link.ts';
import { ask, completion, pause, refusal, type Reservation, reserve, send, unanswered } from './ask.ts';
import { atLeast, byteAt, garbled, uint16 } from './bytes.ts';
import { thresholdEvents } from './sdr-record.ts';

/** IPMI 2.0 section 31: the system event log. */
const storage = 0x0a;
const commands = { getInfo: 0x40, reserve: 0x42, getEntry: 0x43, clear: 0x47, getTime: 0x48 };
const lastEntry = 0xffff;
const wholeRecord = 0xff;
const clearing = { start: 0xaa, status: 0x00, done: 0x01 };
const clearPoll = 200;
const maximumRenewals = 5;

interface SelInfo {
  readonly entries: number;
  /** When the log was erased last; a change says more than the value. */
  readonly erased: number;
}

export function decodeSelInfo(data: Buffer): SelInfo {
  atLeast(data, 13, 'Get SEL Info');
  return { entries: data.readUInt16LE(1), erased: data.readUInt32LE(9) };
}

async function getSelInfo(link: IpmiLink, signal: AbortSignal): Promise<SelInfo> {
  return decodeSelInfo(await ask(link, { netfn: storage, command: commands.getInfo }, 'Get SEL Info', signal));
}

const recordSize = 16;
/** Free space that is as much as can be said, or unknown. */
const unsaid = 0xffff;

/** How full the log is, and whether it has lost entries (table 31-2). */
export async function getSelFill(
  link: IpmiLink,
  signal: AbortSignal,
): Promise<{ readonly entries: number; readonly room: number | undefined; readonly hasLost: boolean }> {
  const what = 'Get SEL Info';
  const data = atLeast(await ask(link, { netfn: storage, command: commands.getInfo }, what, signal), 14, what);
  const [entries, free] = [data.readUInt16LE(1), data.readUInt16LE(3)];
  const room = free === unsaid ? undefined : entries + Math.floor(free / recordSize);
  return { entries, room, hasLost: (byteAt(data, 13) & 0x80) !== 0 };
}

/** Times below this are counted from the start of the BMC: it does not know what time it is. */
const firstTime = 0x2000_0000;

/** Seconds since 1970 by the clock of the BMC; undefined if it does not know them. */
export async function getSelTime(link: IpmiLink, signal: AbortSignal): Promise<number | undefined> {
  const what = 'Get SEL Time';
  const data = atLeast(await ask(link, { netfn: storage, command: commands.getTime }, what, signal), 4, what);
  const seconds = data.readUInt32LE(0);
  return seconds <= firstTime || seconds === 0xffff_ffff ? undefined : seconds;
}

/** All entries, oldest first. */
export async function readSel(link: IpmiLink, signal: AbortSignal): Promise<readonly SelEntry[]> {
  const { entries: count } = await getSelInfo(link, signal);
  const entries: SelEntry[] = [];
  const seen = new Set<number>();
  for (let id = 0; count > 0 && id !== lastEntry && !seen.has(id); ) {
    seen.add(id);
    const data = Buffer.of(0, 0, ...uint16(id), 0, wholeRecord);
    const response = await send(link, { netfn: storage, command: commands.getEntry, data }, signal);
    // The log was cleared, or its last entry taken, while it was read.
    if (response.code === completion.notPresent) break;
    if (response.code !== completion.ok) throw refusal('Get SEL Entry', response.code);
    const answer = atLeast(response.data, 2 + recordLength, 'Get SEL Entry');
    entries.push(decodeSelEntry(answer.subarray(2)));
    id = answer.readUInt16LE(0);
  }
  return entries;
}

const reserveLog = (link: IpmiLink, signal: AbortSignal, cancelled?: Reservation) =>
  reserve(link, { netfn: storage, command: commands.reserve }, 'Reserve SEL', signal, cancelled);

function clearRequest(reservation: number, operation: number) {
  const data = Buffer.of(...uint16(reservation), 0x43, 0x4c, 0x52, operation);
  const repeatable = operation === clearing.status;
  return { netfn: storage, command: commands.clear, data, privilege: 'operator', repeatable } as const;
}

/** Starts the erasure and waits for its end; a reservation that got lost on the way is made again. */
async function erase(link: IpmiLink, signal: AbortSignal): Promise<void> {
  let reservation = await reserveLog(link, signal);
  let operation = clearing.start;
  for (let renewals = 0; ; ) {
    const response = await send(link, clearRequest(reservation.id, operation), signal);
    if (response.code === completion.reservationCancelled && renewals < maximumRenewals) {
      renewals += 1;
      reservation = await reserveLog(link, signal, reservation);
      continue;
    }
    if (response.code !== completion.ok) throw refusal('to clear its event log', response.code);
    if (response.data.length < 1) throw garbled('Clear SEL', response.data);
    if ((byteAt(response.data, 0) & 0x0f) === clearing.done) return;
    operation = clearing.status;
    await pause(clearPoll, signal);
  }
}

/** Clears the log and looks at it. Some hardware logs that it was cleared, so it need not be empty. */
export async function clearSel(link: IpmiLink, signal: AbortSignal): Promise<void> {
  const before = await getSelInfo(link, signal);
  let silence: Fault | undefined;
  try {
    await erase(link, signal);
  } catch (error) {
    if (!unanswered(error, signal)) throw error;
    silence = error;
  }
  const after = await getSelInfo(link, signal);
  if (after.entries === 0 || after.entries < before.entries || after.erased !== before.erased) return;
  throw silence ?? new Fault('invalid', 'its BMC says that it cleared its event log, but it did not.');
}

/** IPMI 2.0 section 32: records of the system event log. */
const recordLength = 16;
export interface SelEvent {
  readonly kind: 'event';
  readonly time: number;
  readonly generator: number;
  readonly sensorType: number;
  readonly sensorNumber: number;
  readonly eventType: number;
  readonly recovered: boolean;
  readonly offset: number;
  /** What the sensor read and its limit, raw, if the entry says so. */
  readonly reading: number | undefined;
  readonly threshold: number | undefined;
  /** What events of this sensor type add, second and third byte, as the standard defines it for the type. */
  readonly extension: readonly [number | undefined, number | undefined];
  /** The same where only the maker knows the meaning. */
  readonly makers: readonly [number | undefined, number | undefined];
}

interface SelOemEntry {
  readonly kind: 'oem';
  readonly type: number;
  /** Undefined: the record has no time. */
  readonly time: number | undefined;
  readonly manufacturer: number | undefined;
  readonly data: string;
}

export type SelEntry = SelEvent | SelOemEntry;

const recordTypes = { systemEvent: 0x02, firstTimedOem: 0xc0, firstUntimedOem: 0xe0 };

/** Table 29-6: what the second and third byte of an event hold. */
const eventContents = { makers: 2, extension: 3 };

function furtherData(record: Buffer, contents: number): readonly [number | undefined, number | undefined] {
  const first = byteAt(record, 13);
  return [
    first >> 6 === contents ? byteAt(record, 14) : undefined,
    ((first >> 4) & 0x03) === contents ? byteAt(record, 15) : undefined,
  ];
}

function decodeEvent(record: Buffer): SelEvent {
  const direction = byteAt(record, 12);
  const eventType = direction & 0x7f;
  const first = byteAt(record, 13);
  const analog = eventType === thresholdEvents;
  return {
    kind: 'event',
    time: record.readUInt32LE(3),
    generator: record.readUInt16LE(7),
    sensorType: byteAt(record, 10),
    sensorNumber: byteAt(record, 11),
    eventType,
    recovered: (direction & 0x80) !== 0,
    offset: first & 0x0f,
    reading: analog && first >> 6 === 1 ? byteAt(record, 14) : undefined,
    threshold: analog && ((first >> 4) & 0x03) === 1 ? byteAt(record, 15) : undefined,
    extension: furtherData(record, eventContents.extension),
    makers: furtherData(record, eventContents.makers),
  };
}

export function decodeSelEntry(record: Buffer): SelEntry {
  atLeast(record, recordLength, 'Get SEL Entry');
  const type = byteAt(record, 2);
  if (type >= recordTypes.firstUntimedOem) {
    const data = record.subarray(3, recordLength).toString('hex').toUpperCase();
    return { kind: 'oem', type, time: undefined, manufacturer: undefined, data };
  }
  if (type >= recordTypes.firstTimedOem) {
    const data = record.subarray(10, recordLength).toString('hex').toUpperCase();
    return { kind: 'oem', type, time: record.readUInt32LE(3), manufacturer: record.readUIntLE(7, 3), data };
  }
  return decodeEvent(record);
}
