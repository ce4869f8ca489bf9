import data from './event-names.json' with { type: 'json' };

/** What sensors and events are called: IPMI 2.0 tables 42-1 to 42-3. States are listed from offset 0 on; a gap is empty. */
const { sensorTypes, threshold } = data;
/** Event/reading types 02h to 0Ch, table 42-2. */
const generic: Readonly<Record<string, readonly string[]>> = data.generic;
/** Event/reading type 6Fh, by sensor type, table 42-3. */
const specific: Readonly<Record<string, readonly string[]>> = data.sensorSpecific;

const eventTypes = { threshold: 0x01, sensorSpecific: 0x6f };
const keyOf = (type: number): string => `0x${type.toString(16).padStart(2, '0')}`;

export function sensorTypeName(type: number): string {
  return sensorTypes[type] ?? (type >= 0xc0 ? `OEM Sensor Type ${type}` : `Sensor Type ${type}`);
}

/** What this state of a sensor means. */
export function stateName(sensorType: number, eventType: number, offset: number): string {
  const names =
    eventType === eventTypes.threshold
      ? threshold
      : eventType === eventTypes.sensorSpecific
        ? specific[keyOf(sensorType)]
        : generic[keyOf(eventType)];
  return names?.[offset] || `State ${offset}`;
}

/** The names of the states whose bits are set. */
export function stateNames(sensorType: number, eventType: number, states: number): readonly string[] {
  const names: string[] = [];
  for (let offset = 0; offset < 15; offset += 1) {
    if (states & (1 << offset)) names.push(stateName(sensorType, eventType, offset));
  }
  return names;
}
