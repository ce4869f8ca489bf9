import { createHash } from 'node:crypto';
import { Fault } from '../../../core/errors.ts';
import { mapInSlices } from '../../../core/slices.ts';
import type { IpmiLink } from '../link.ts';
import { ask, completion, pause, refusal, type Reservation, reserve, send } from './ask.ts';
import { atLeast, byteAt, uint16 } from './bytes.ts';
import { decodeSdrRecord, type SdrRecord } from './sdr-record.ts';

/** IPMI 2.0 section 33 (SDR repository) and 35.2 to 35.4 (device SDRs, for controllers without a repository). */
interface Source {
  readonly netfn: number;
  readonly info: number;
  readonly reserve: number;
  readonly get: number;
}
const repository: Source = { netfn: 0x0a, info: 0x20, reserve: 0x22, get: 0x23 };
const device: Source = { netfn: 0x04, info: 0x20, reserve: 0x22, get: 0x21 };

const headerLength = 5;
const lastRecord = 0xffff;
/** Sizes of partial reads, tried in turn; the first is more than most hardware can do, the third what all can. */
const readSizes: readonly number[] = [64, 32, 16, 8];
const shrinkOn: readonly number[] = [completion.cannotReturn, completion.tooLong, completion.unspecified];
/** Far more than any BMC has. */
const mostRecords = 4_096;
const maximumRenewals = 20;
const renewalPause = 50;

interface SdrInfo {
  readonly source: Source;
  /** Changes whenever the records do. */
  readonly stamp: string;
}

function decodeRepositoryStamp(data: Buffer): string {
  atLeast(data, 13, 'Get SDR Repository Info');
  return `${data.readUInt16LE(1)}.${data.readUInt32LE(5)}.${data.readUInt32LE(9)}`;
}

/** The number of sensors, and if they can change at run time, when they did. */
function decodeDeviceStamp(data: Buffer): string {
  atLeast(data, 2, 'Get Device SDR Info');
  const dynamic = (byteAt(data, 1) & 0x80) !== 0 && data.length >= 6;
  return `${byteAt(data, 0)}.${byteAt(data, 1)}.${dynamic ? data.readUInt32LE(2) : 0}`;
}

export async function getSdrInfo(link: IpmiLink, signal: AbortSignal): Promise<SdrInfo> {
  const response = await send(link, { netfn: repository.netfn, command: repository.info }, signal);
  if (response.code === completion.ok) return { source: repository, stamp: decodeRepositoryStamp(response.data) };
  const data = await ask(link, { netfn: device.netfn, command: device.info }, 'to list its sensors', signal);
  return { source: device, stamp: decodeDeviceStamp(data) };
}

/** What changes while records are read: the reservation, and the size the hardware turned out to manage. */
interface Reader {
  readonly link: IpmiLink;
  readonly source: Source;
  readonly signal: AbortSignal;
  reservation: Reservation;
  size: number;
  renewals: number;
}

const reserveRecords = (link: IpmiLink, source: Source, signal: AbortSignal, cancelled?: Reservation) =>
  reserve(link, { netfn: source.netfn, command: source.reserve }, 'Reserve SDR Repository', signal, cancelled);

async function renew(reader: Reader): Promise<void> {
  reader.renewals += 1;
  if (reader.renewals > maximumRenewals) {
    throw new Fault('invalid', 'the sensor records change faster than they can be read; try again later.');
  }
  await pause(renewalPause, reader.signal);
  reader.reservation = await reserveRecords(reader.link, reader.source, reader.signal, reader.reservation);
}

/** A piece of a record: the id of the next one, and the bytes (at most as many as asked for, at least one). */
async function readPiece(
  reader: Reader,
  id: number,
  offset: number,
  wanted: number,
): Promise<{ next: number; bytes: Buffer }> {
  for (;;) {
    const length = Math.min(wanted, readSizes[reader.size] ?? headerLength);
    const data = Buffer.of(...uint16(reader.reservation.id), ...uint16(id), offset, length);
    const response = await send(
      reader.link,
      { netfn: reader.source.netfn, command: reader.source.get, data },
      reader.signal,
    );
    if (response.code === completion.ok) {
      const answer = atLeast(response.data, 3, 'Get SDR');
      return { next: answer.readUInt16LE(0), bytes: answer.subarray(2, 2 + length) };
    }
    if (response.code === completion.reservationCancelled) await renew(reader);
    else if (shrinkOn.includes(response.code) && reader.size < readSizes.length) reader.size += 1;
    else throw refusal('Get SDR', response.code);
  }
}

async function readRecord(reader: Reader, id: number): Promise<{ next: number; record: Buffer }> {
  const head = await readPiece(reader, id, 0, headerLength);
  const pieces = [head.bytes];
  let have = head.bytes.length;
  const total = headerLength + byteAt(head.bytes, 4);
  while (have < total && have <= 0xff) {
    const { bytes } = await readPiece(reader, id, have, total - have);
    pieces.push(bytes);
    have += bytes.length;
  }
  return { next: head.next, record: Buffer.concat(pieces) };
}

/** All records as they are on the wire. A list that turns back on itself ends there. */
export async function readSdrRecords(link: IpmiLink, source: Source, signal: AbortSignal): Promise<readonly Buffer[]> {
  const reservation = await reserveRecords(link, source, signal);
  const reader: Reader = { link, source, signal, reservation, size: 0, renewals: 0 };
  const records: Buffer[] = [];
  const seen = new Set<number>();
  for (let id = 0; id !== lastRecord && !seen.has(id); ) {
    if (seen.size === mostRecords) {
      throw new Fault('garbled', `its BMC lists more than ${mostRecords} sensor records.`);
    }
    seen.add(id);
    const { next, record } = await readRecord(reader, id);
    records.push(record);
    id = next;
  }
  return records;
}

interface Entry {
  readonly stamp: string;
  readonly records: readonly SdrRecord[];
}

/** Caches records by their stamp. Machines of one model have equal records, which are kept once. */
export function sdrCache(capacity = 20_000) {
  const entries = new Map<string, Entry>();
  /** By the hash of the raw records, as long as a BMC has them. */
  const byContent = new Map<string, WeakRef<readonly SdrRecord[]>>();

  async function decoded(raw: readonly Buffer[]): Promise<readonly SdrRecord[]> {
    const hash = createHash('sha256');
    for (const record of raw) hash.update(record);
    const content = hash.digest('base64');
    const known = byContent.get(content)?.deref();
    if (known) return known;
    const records = (await mapInSlices(raw, decodeSdrRecord)).flat();
    if (byContent.size >= capacity) byContent.clear();
    byContent.set(content, new WeakRef(records));
    return records;
  }

  return {
    async records(key: string, link: IpmiLink, signal: AbortSignal): Promise<readonly SdrRecord[]> {
      const { source, stamp } = await getSdrInfo(link, signal);
      const entry = entries.get(key);
      if (entry?.stamp === stamp) return entry.records;
      const records = await decoded(await readSdrRecords(link, source, signal));
      const oldest = entries.keys().next();
      if (entries.size >= capacity && !oldest.done) entries.delete(oldest.value);
      entries.set(key, { stamp, records });
      return records;
    },
  };
}
