import { at, type Json, textAt } from '../../protocols/redfish/json.ts';

/** As the reference system orders them, and behind them what it does not know. */
export const readingKinds = [
  'temp',
  'voltage',
  'wattage',
  'fanspeed',
  'current',
  'energy',
  'altitude',
  'other',
] as const;
export type ReadingKind = (typeof readingKinds)[number];

const btuPerWattHour = 3.412;

const plain = (value: number): string => String(Number(value.toFixed(3)));

/** As the reference system prints them. */
const formats: Readonly<Record<string, (value: number) => string>> = {
  Cel: (value) => `${plain(value)} C (${Math.round((value * 9) / 5 + 32)} F)`,
  V: (value) => `${plain(value)} Volts`,
  A: (value) => `${plain(value)} Amps`,
  W: (value) => `${plain(value)} Watts (${Math.round(value * btuPerWattHour)} BTUs/hr)`,
  RPM: (value) => `${plain(value)} RPM`,
  'kW.h': (value) => `${plain(value)} kWh`,
};

/** A measure in a unit of Redfish (UCUM); one without a value is `N/A`. */
export function measured(value: number | undefined, unit: string): string {
  if (value === undefined) return 'N/A';
  return formats[unit]?.(value) ?? `${plain(value)} ${unit}`.trim();
}

/** Units that say by themselves what is measured; per cent and pascals do not. */
const kindsByUnit: Readonly<Record<string, ReadingKind>> = {
  Cel: 'temp',
  V: 'voltage',
  W: 'wattage',
  RPM: 'fanspeed',
  A: 'current',
  'kW.h': 'energy',
  'W.h': 'energy',
  J: 'energy',
};

/** Words of some services for units. */
const unitWords: Readonly<Record<string, string>> = {
  C: 'Cel',
  Volts: 'V',
  Amps: 'A',
  Watts: 'W',
  kWh: 'kW.h',
  Percent: '%',
};

/** Sensor.ReadingType of the DMTF schemas: the kind, and the unit where the service does not say it. */
const types: Readonly<Record<string, { readonly kind: ReadingKind; readonly unit: string }>> = {
  Temperature: { kind: 'temp', unit: 'Cel' },
  Voltage: { kind: 'voltage', unit: 'V' },
  Power: { kind: 'wattage', unit: 'W' },
  Rotational: { kind: 'fanspeed', unit: 'RPM' },
  Current: { kind: 'current', unit: 'A' },
  EnergykWh: { kind: 'energy', unit: 'kW.h' },
  EnergyWh: { kind: 'energy', unit: 'W.h' },
  EnergyJoules: { kind: 'energy', unit: 'J' },
  Altitude: { kind: 'altitude', unit: 'm' },
  Percent: { kind: 'other', unit: '%' },
  Frequency: { kind: 'other', unit: 'Hz' },
};

export interface Measure {
  readonly kind: ReadingKind;
  readonly unit: string;
}

/**
 * What a Sensor measures. The unit is believed before the type: some services call watts a current and revolutions an air flow.
 * Undefined: it measures nothing, but shows a state as a number; it has neither, or a unit that is empty.
 */
export function measureOf(sensor: Json): Measure | undefined {
  const word = at(sensor, 'ReadingUnits');
  if (typeof word === 'string' && word.trim() === '') return undefined;
  const type = types[textAt(sensor, 'ReadingType') ?? ''];
  const text = textAt(sensor, 'ReadingUnits');
  const unit = text === undefined ? type?.unit : (unitWords[text] ?? text);
  if (unit === undefined) return undefined;
  const kind = kindsByUnit[unit] ?? type?.kind ?? 'other';
  return { unit, kind: kind === 'other' && unit === '%' && isFan(sensor) ? 'fanspeed' : kind };
}

const isFan = (sensor: Json): boolean =>
  textAt(sensor, 'PhysicalContext') === 'Fan' || /\b(fan|pwm)/i.test((textAt(sensor, 'Name') ?? '').replace(/_/g, ' '));

export const isThere = (item: Json): boolean => textAt(item, 'Status', 'State') !== 'Absent';
