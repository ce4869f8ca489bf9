import { hex } from './bytes.ts';
import { thresholdEvents } from './sdr-record.ts';
import data from './event-names.json' with { type: 'json' };

/** What sensors and events are called: IPMI 2.0 tables 42-1 to 42-3. States are listed from offset 0 on; a gap is empty. */
const { sensorTypes, threshold } = data;
/** Event/reading types 02h to 0Ch, table 42-2. */
const generic: Readonly<Record<string, readonly string[]>> = data.generic;
/** Event/reading type 6Fh, by sensor type, table 42-3. */
const specific: Readonly<Record<string, readonly string[]>> = data.sensorSpecific;

/** The event/reading type whose states are those of the sensor type. */
export const sensorSpecific = 0x6f;
const keyOf = (type: number): string => `0x${type.toString(16).padStart(2, '0')}`;

export function sensorTypeName(type: number): string {
  return sensorTypes[type] ?? (type >= 0xc0 ? `OEM Sensor Type ${type}` : `Sensor Type ${type}`);
}

/** What this state of a sensor means. */
export function stateName(sensorType: number, eventType: number, offset: number): string {
  const names =
    eventType === thresholdEvents
      ? threshold
      : eventType === sensorSpecific
        ? specific[keyOf(sensorType)]
        : generic[keyOf(eventType)];
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
export function extensionName(
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
