import { atLeast, byteAt } from './bytes.ts';

/** IPMI 2.0 section 32: records of the system event log. */
export const recordLength = 16;
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
}

export interface SelOemEntry {
  readonly kind: 'oem';
  readonly type: number;
  /** Undefined: the record has no time. */
  readonly time: number | undefined;
  readonly manufacturer: number | undefined;
  readonly data: string;
}

export type SelEntry = SelEvent | SelOemEntry;

const recordTypes = { systemEvent: 0x02, firstTimedOem: 0xc0, firstUntimedOem: 0xe0 };
const thresholdEvent = 0x01;

function decodeEvent(record: Buffer): SelEvent {
  const direction = byteAt(record, 12);
  const eventType = direction & 0x7f;
  const first = byteAt(record, 13);
  const analog = eventType === thresholdEvent;
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
