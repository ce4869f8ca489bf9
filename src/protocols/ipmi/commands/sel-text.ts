import { hex } from './bytes.ts';
import { extensionName, sensorSpecific, sensorTypeName, stateName } from './event-names.ts';
import type { SdrRecord, SensorRecord } from './sdr-record.ts';
import type { SelEntry, SelEvent } from './sel.ts';
import { convert, valueText } from './units.ts';

/** Before this a time counts from the start of the service processor: IPMI 2.0 section 37. */
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
