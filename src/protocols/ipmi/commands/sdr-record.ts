import { byteAt, decodeField, signed } from './bytes.ts';

/** IPMI 2.0 section 43: sensor data records. Offsets are those of the standard minus one. */
const recordTypes = { full: 0x01, compact: 0x02, eventOnly: 0x03, fruLocator: 0x11 };

/** How a raw reading becomes a value: section 36.3. */
export interface Conversion {
  readonly format: 'unsigned' | 'ones' | 'twos' | 'none';
  readonly linearization: number;
  readonly m: number;
  readonly b: number;
  readonly resultExponent: number;
  readonly bExponent: number;
}

export interface SensorUnits {
  readonly percent: boolean;
  readonly rate: number;
  readonly relation: 'none' | 'per' | 'times';
  readonly base: number;
  readonly modifier: number;
}

export interface SensorRecord {
  readonly kind: 'sensor';
  readonly name: string;
  readonly owner: number;
  /** Of the bus that the owner is on. */
  readonly channel: number;
  readonly lun: number;
  readonly number: number;
  readonly type: number;
  readonly eventType: number;
  readonly units: SensorUnits;
  /** Absent if the sensor has only states. */
  readonly conversion: Conversion | undefined;
  /** Raw values beyond which something is wrong, as far as the record has them. */
  readonly thresholds?: Readonly<Partial<Record<ThresholdName, number>>>;
  /** Sensors that only send events cannot be read. */
  readonly readable: boolean;
}

export interface FruLocator {
  readonly kind: 'fru';
  readonly name: string;
  readonly owner: number;
  readonly fruId: number;
  /** A device with its own FRU commands, not a bare memory chip behind a bus. */
  readonly logical: boolean;
  readonly entity: number;
}

export type SdrRecord = SensorRecord | FruLocator;

const formats = ['unsigned', 'ones', 'twos', 'none'] as const;
const relations = ['none', 'per', 'times', 'none'] as const;
const noUnits: SensorUnits = { percent: false, rate: 0, relation: 'none', base: 0, modifier: 0 };

function decodeUnits(record: Buffer): SensorUnits {
  const first = byteAt(record, 20);
  return {
    percent: (first & 0x01) !== 0,
    rate: (first >> 3) & 0x07,
    relation: relations[(first >> 1) & 0x03] ?? 'none',
    base: byteAt(record, 21),
    modifier: byteAt(record, 22),
  };
}

/** The bytes from linearization to the exponents, as in records and in Get Sensor Reading Factors. */
export function decodeFactors(data: Uint8Array): Pick<Conversion, 'm' | 'b' | 'resultExponent' | 'bExponent'> {
  return {
    m: signed(byteAt(data, 0) | ((byteAt(data, 1) & 0xc0) << 2), 10),
    b: signed(byteAt(data, 2) | ((byteAt(data, 3) & 0xc0) << 2), 10),
    resultExponent: signed(byteAt(data, 5) >> 4, 4),
    bExponent: signed(byteAt(data, 5), 4),
  };
}

/** Event/reading type of sensors with limits, table 42-1. */
export const thresholdEvents = 0x01;

/** Full records of sensors that have states only fill in a format too; some with states have a value all the same, which a unit shows. */
function decodeConversion(record: Buffer): Conversion | undefined {
  const format = formats[byteAt(record, 20) >> 6] ?? 'none';
  const { base, percent } = decodeUnits(record);
  const isAnalog = (byteAt(record, 13) & 0x7f) === thresholdEvents || base !== 0 || percent;
  if (format === 'none' || !isAnalog) return undefined;
  return { format, linearization: byteAt(record, 23) & 0x7f, ...decodeFactors(record.subarray(24)) };
}

export type ThresholdName = 'upperCritical' | 'upperWarning' | 'lowerCritical' | 'lowerWarning';

/** The bit that says that a threshold can be read, and where it is. */
const thresholdPlaces: readonly (readonly [name: ThresholdName, bit: number, at: number])[] = [
  ['upperCritical', 4, 37],
  ['upperWarning', 3, 38],
  ['lowerCritical', 1, 40],
  ['lowerWarning', 0, 41],
];

function decodeThresholds(record: Buffer): Pick<SensorRecord, 'thresholds'> {
  if ((byteAt(record, 13) & 0x7f) !== thresholdEvents) return {};
  const readable = thresholdPlaces.filter(([, bit]) => byteAt(record, 18) & (1 << bit));
  if (readable.length === 0) return {};
  return { thresholds: Object.fromEntries(readable.map(([name, , at]) => [name, byteAt(record, at)])) };
}

function sensor(record: Buffer, nameAt: number): SensorRecord {
  const full = byteAt(record, 3) === recordTypes.full;
  return {
    kind: 'sensor',
    name: decodeField(record, nameAt, 'sdr').text,
    owner: byteAt(record, 5),
    channel: byteAt(record, 6) >> 4,
    lun: byteAt(record, 6) & 0x03,
    number: byteAt(record, 7),
    type: byteAt(record, 12),
    eventType: byteAt(record, 13) & 0x7f,
    units: decodeUnits(record),
    conversion: full ? decodeConversion(record) : undefined,
    ...(full ? decodeThresholds(record) : {}),
    readable: true,
  };
}

function eventOnly(record: Buffer): SensorRecord {
  return {
    ...sensor(record, 16),
    type: byteAt(record, 10),
    eventType: byteAt(record, 11) & 0x7f,
    units: noUnits,
    readable: false,
  };
}

/** One record can stand for several sensors with numbers and names that count up. */
function shared(first: SensorRecord, sharing: number, start: number): SensorRecord[] {
  const count = sharing & 0x0f;
  if (count < 2) return [first];
  const alphabetic = ((sharing >> 4) & 0x03) === 1;
  return Array.from({ length: count }, (_, index) => {
    const position = (start & 0x7f) + index;
    const suffix = alphabetic ? String.fromCharCode(65 + (position % 26)) : String(position);
    return { ...first, number: (first.number + index) & 0xff, name: `${first.name}${suffix}` };
  });
}

function fruLocator(record: Buffer): FruLocator {
  return {
    kind: 'fru',
    name: decodeField(record, 15, 'sdr').text,
    owner: byteAt(record, 5),
    fruId: byteAt(record, 6),
    logical: (byteAt(record, 7) & 0x80) !== 0,
    entity: byteAt(record, 12),
  };
}

/** What a record says, header included; nothing for kinds that are not needed and for records cut too short. */
export function decodeSdrRecord(record: Buffer): readonly SdrRecord[] {
  const long = (length: number) => record.length >= length;
  switch (byteAt(record, 3)) {
    case recordTypes.full:
      return long(48) ? [sensor(record, 47)] : [];
    case recordTypes.compact:
      return long(32) ? shared(sensor(record, 31), byteAt(record, 23), byteAt(record, 24)) : [];
    case recordTypes.eventOnly:
      return long(17) ? shared(eventOnly(record), byteAt(record, 12), byteAt(record, 13)) : [];
    case recordTypes.fruLocator:
      return long(16) ? [fruLocator(record)] : [];
    default:
      return [];
  }
}
