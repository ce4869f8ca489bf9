import { hex } from './bytes.ts';
import data from './event-names.json' with { type: 'json' };
import { type SdrRecord, type SensorRecord, thresholdEvents } from './sdr-record.ts';
import type { SelEntry, SelEvent } from './sel.ts';
import { convert, valueText } from './sensor.ts';

/** What sensors and events are called: IPMI 2.0 tables 42-1 to 42-3. States are listed from offset 0 on; a gap is empty. */
const { sensorTypes, threshold: thresholdStates } = data;
/** Event/reading types 02h to 0Ch, table 42-2. */
const generic: Readonly<Record<string, readonly string[]>> = data.generic;
/** Event/reading type 6Fh, by sensor type, table 42-3. */
const specific: Readonly<Record<string, readonly string[]>> = data.sensorSpecific;

/** The event/reading type whose states are those of the sensor type. */
const sensorSpecific = 0x6f;
const typeKey = (type: number): string => `0x${type.toString(16).padStart(2, '0')}`;

export function sensorTypeName(type: number): string {
  return sensorTypes[type] ?? (type >= 0xc0 ? `OEM Sensor Type ${type}` : `Sensor Type ${type}`);
}

/** What this state of a sensor means. */
export function stateName(sensorType: number, eventType: number, offset: number): string {
  const names =
    eventType === thresholdEvents
      ? thresholdStates
      : eventType === sensorSpecific
        ? specific[typeKey(sensorType)]
        : generic[typeKey(eventType)];
  return names?.[offset] || `State ${offset}`;
}

/** IPMI 2.0 table 35-15, the most severe first. */
const limits: readonly (readonly [bit: number, name: string])[] = [
  [5, 'Upper Non-recoverable'],
  [2, 'Lower Non-recoverable'],
  [4, 'Upper Critical'],
  [1, 'Lower Critical'],
  [3, 'Upper Non-critical'],
  [0, 'Lower Non-critical'],
];

/** The most severe of the limits that a reading is beyond; undefined if all is well. */
export function limitName(states: number): string | undefined {
  return limits.find(([bit]) => states & (1 << bit))?.[1];
}

const types = { memory: 0x0c, firmware: 0x0f };

/** What the extension bytes of an event say, where table 42-3 gives them a meaning that is of use. */
function extensionName(
  sensorType: number,
  offset: number,
  [second, third]: readonly [number | undefined, number | undefined],
): string | undefined {
  if (sensorType === types.memory && third !== undefined) return `DIMM ${third}`;
  if (sensorType !== types.firmware || second === undefined) return undefined;
  const names = offset === 0 ? data.firmwareErrors : data.firmwareProgress;
  return names[second] || `code ${hex(second)}`;
}

/** The names of the states whose bits are set. */
export function stateNames(sensorType: number, eventType: number, states: number): readonly string[] {
  const names: string[] = [];
  for (let offset = 0; offset < 15; offset += 1) {
    if (states & (1 << offset)) names.push(stateName(sensorType, eventType, offset));
  }
  return names;
}

/** Before this a time counts from the start of the BMC: IPMI 2.0 section 37. */
const firstRealTime = 0x20000000;
const unspecifiedTime = 0xffffffff;

/** `04/29/2024 22:36:32` in local time, or `BMC Uptime   1881 s` if the clock was not set then. */
export function timeText(time: number | undefined): string {
  if (time === undefined || time === unspecifiedTime) return 'Unknown time';
  if (time < firstRealTime) return `BMC Uptime ${String(time).padStart(6)} s`;
  const date = new Date(time * 1000);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${two(date.getMonth() + 1)}/${two(date.getDate())}/${date.getFullYear()}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** By their number and type; made once for all entries of a log. */
const sensorsOf = new WeakMap<readonly SdrRecord[], ReadonlyMap<number, readonly SensorRecord[]>>();

const keyOf = (number: number, type: number): number => number * 256 + type;

function indexed(records: readonly SdrRecord[]): ReadonlyMap<number, readonly SensorRecord[]> {
  const known = sensorsOf.get(records);
  if (known) return known;
  const sensors = records.filter((record): record is SensorRecord => record.kind === 'sensor');
  const index = Map.groupBy(sensors, ({ number, type }) => keyOf(number, type));
  sensorsOf.set(records, index);
  return index;
}

function findSensor(event: SelEvent, records: readonly SdrRecord[]): SensorRecord | undefined {
  const same = indexed(records).get(keyOf(event.sensorNumber, event.sensorType)) ?? [];
  return same.find((record) => record.owner === (event.generator & 0xff)) ?? same[0];
}

function rawText(raw: number | undefined, sensor: SensorRecord): string | undefined {
  if (raw === undefined || sensor.conversion === undefined) return undefined;
  const value = convert(raw, sensor.conversion);
  return value === undefined ? undefined : valueText(value, sensor.units);
}

/** `CPU1 Temp reading 97 C (207 F) with threshold 95 C (203 F)` */
function sensorText(event: SelEvent, sensor: SensorRecord | undefined): string {
  if (sensor === undefined) return `Sensor ${event.sensorNumber}`;
  const reading = rawText(event.reading, sensor);
  const threshold = rawText(event.threshold, sensor);
  return [
    sensor.name,
    reading === undefined ? undefined : `reading ${reading}`,
    threshold === undefined ? undefined : `with threshold ${threshold}`,
  ]
    .filter((part) => part !== undefined)
    .join(' ');
}

/** `Correctable ECC, DIMM 3`, `System Firmware Progress, Memory initialization`, `State Asserted, data 2 A0h`. */
function eventText({ sensorType, eventType, offset, extension, makers }: SelEvent): string {
  const further = eventType === sensorSpecific ? extensionName(sensorType, offset, extension) : undefined;
  const own = makers.map((byte, index) => (byte === undefined ? undefined : `data ${index + 2} ${hex(byte)}`));
  return [stateName(sensorType, eventType, offset), further, ...own].filter((part) => part !== undefined).join(', ');
}

/** One line for an entry of the event log; the sensor records give names and units. */
export function selText(entry: SelEntry, records: readonly SdrRecord[]): string {
  const time = timeText(entry.time);
  if (entry.kind === 'oem') {
    const maker = entry.manufacturer === undefined ? '' : ` of manufacturer ${entry.manufacturer}`;
    return `${time} OEM record ${entry.type.toString(16).toUpperCase()}${maker}, ${entry.data}`;
  }
  const sensor = findSensor(entry, records);
  const recovered = entry.recovered ? ' - Recovered' : '';
  return `${time} ${sensorTypeName(entry.sensorType)}, ${eventText(entry)} (${sensorText(entry, sensor)})${recovered}`;
}
