import { Fault } from '../../core/errors.ts';
import { unanswered } from '../../protocols/ipmi/commands/ask.ts';
import { type ChassisStatus, getChassisStatus } from '../../protocols/ipmi/commands/chassis.ts';
import { limitName, stateNames } from '../../protocols/ipmi/commands/sel-text.ts';
import type { SdrRecord, SensorRecord } from '../../protocols/ipmi/commands/sdr-record.ts';
import { Sensors, thresholdValue, unitCodes, valueText } from '../../protocols/ipmi/commands/sensor.ts';
import type { Labelled, SensorLimits, Vitals, VitalsKind } from '../capabilities.ts';
import { type Bmc, boundedReading } from './bmc.ts';

const sensorTypes = { temperature: 0x01, voltage: 0x02, fan: 0x04 };

/** Which sensors belong to a kind; power, leds and chassis are no matter of sensors. */
const sensorKinds: Readonly<Partial<Record<VitalsKind, (sensor: SensorRecord) => boolean>>> = {
  temp: ({ type }) => type === sensorTypes.temperature,
  voltage: ({ type }) => type === sensorTypes.voltage,
  wattage: ({ units }) => units.base === unitCodes.watts,
  fanspeed: ({ type }) => type === sensorTypes.fan,
  energy: ({ units }) => units.base === unitCodes.joules,
  current: ({ units }) => units.base === unitCodes.amps,
};
const others: readonly VitalsKind[] = ['power', 'leds', 'chassis'];
const known = [...Object.keys(sensorKinds), ...others] as readonly VitalsKind[];

async function sensorText(sensors: Sensors, sensor: SensorRecord, signal: AbortSignal): Promise<string> {
  if (sensor.conversion !== undefined) {
    const found = await sensors.value(sensor, signal);
    if (found === undefined) return 'N/A';
    return [valueText(found.value, sensor.units), limitName(found.limits)].filter(Boolean).join(', ');
  }
  const reading = await sensors.reading(sensor, signal);
  if (reading === undefined) return 'N/A';
  return stateNames(sensor.type, sensor.eventType, reading.states).join(', ') || '0';
}

/** Two sensors of one name get numbers, so that none hides the other. */
function uniqueLabel(name: string, taken: Readonly<Record<string, unknown>>): string {
  let label = name;
  for (let number = 2; Object.hasOwn(taken, label); number += 1) label = `${name} ${number}`;
  return label;
}

async function readSensors(
  bmc: Bmc,
  wanted: (sensor: SensorRecord) => boolean,
  signal: AbortSignal,
  records?: readonly SdrRecord[],
): Promise<Record<string, string>> {
  const labels: Record<string, string> = {};
  const sensors = new Sensors(bmc.link);
  for (const [label, record] of labelledSensors(records ?? (await bmc.records(signal)), wanted))
    labels[label] = await sensorText(sensors, record, signal);
  return labels;
}

function labelledSensors(
  records: readonly SdrRecord[],
  wanted: (sensor: SensorRecord) => boolean,
): readonly (readonly [label: string, sensor: SensorRecord])[] {
  const found: Record<string, SensorRecord> = {};
  for (const record of records) {
    if (record.kind !== 'sensor' || !record.readable || !wanted(record)) continue;
    found[uniqueLabel(record.name || `Sensor ${record.number}`, found)] = record;
  }
  return Object.entries(found);
}

/** From the records that are remembered anyway: no sensor is asked. */
async function limitsOf(
  bmc: Bmc,
  kinds: readonly VitalsKind[],
  signal: AbortSignal,
): Promise<Record<string, SensorLimits>> {
  const records = await bmc.records(signal);
  const limits: Record<string, SensorLimits> = {};
  for (const kind of kinds)
    for (const [label, sensor] of labelledSensors(records, sensorKinds[kind] ?? (() => false))) {
      const { thresholds = {}, conversion, units } = sensor;
      // Readings are shown in both units; whoever keeps them keeps Celsius.
      if (units.base === unitCodes.fahrenheit) continue;
      const values = Object.entries(thresholds).flatMap(([name, raw]) => {
        const value = conversion && thresholdValue(raw, conversion);
        return value === undefined ? [] : [[name, value] as const];
      });
      if (values.length > 0) limits[label] = Object.fromEntries(values);
    }
  return limits;
}

async function readAll(bmc: Bmc, signal: AbortSignal): Promise<Labelled> {
  const labels = chassisLabels(await getChassisStatus(bmc.link, signal));
  const records = await bmc.records(signal).catch((error: unknown) => {
    // One that lists no sensors, as simulators do, has reported the rest all the same. Silence is the whole BMC's.
    if (signal.aborted || unanswered(error, signal) || !(error instanceof Fault)) throw error;
    return error;
  });
  if (records instanceof Fault) return { ...labels, Message: [records.message] };
  return { ...labels, ...(await readSensors(bmc, () => true, signal, records)) };
}

async function readKinds(bmc: Bmc, kinds: readonly VitalsKind[], signal: AbortSignal): Promise<Labelled> {
  const unknown = kinds.find((kind) => !known.includes(kind));
  if (unknown !== undefined) {
    throw new Fault('invalid', `IPMI has no vitals of the kind "${unknown}"; it has ${known.join(', ')}.`);
  }
  if (kinds.length === 0) return await readAll(bmc, signal);
  const labels: Record<string, string | readonly string[]> = {};
  const messages: string[] = [];
  if (kinds.includes('chassis') || kinds.includes('power')) {
    const status = await getChassisStatus(bmc.link, signal);
    Object.assign(labels, kinds.includes('chassis') ? chassisLabels(status) : powerStatus(status));
  }
  for (const kind of new Set(kinds)) {
    const wanted = sensorKinds[kind];
    if (wanted === undefined) continue;
    const found = await readSensors(bmc, (sensor) => sensor.conversion !== undefined && wanted(sensor), signal);
    Object.assign(labels, found);
    if (Object.keys(found).length === 0) messages.push(`No ${kind} sensors found in system`);
  }
  // Only makers' own commands show the LEDs of a system.
  if (kinds.includes('leds')) messages.push('No supported LEDs found in system');
  return messages.length > 0 ? { ...labels, Message: messages } : labels;
}

export function ipmiVitals(bmc: Bmc): Vitals {
  return {
    read: (kinds, outer) => boundedReading(outer, (signal) => readKinds(bmc, kinds, signal)),
    limits: (kinds, outer) => boundedReading(outer, (signal) => limitsOf(bmc, kinds, signal)),
  };
}

const truth = (value: boolean) => (value ? 'true' : 'false');
const activity = (value: boolean) => (value ? 'active' : 'inactive');
const lights = { off: 'off', timed: 'on (timed)', on: 'on' };

function powerStatus(status: ChassisStatus): Record<string, string> {
  return { 'Power Status': status.power ? 'on' : 'off' };
}

/** The chassis status in the labels of the reference system. */
function chassisLabels(status: ChassisStatus): Record<string, string> {
  return {
    ...powerStatus(status),
    'Power Overload': truth(status.overload),
    'Power Interlock': activity(status.interlock),
    'Power Fault': truth(status.fault),
    'Power Control Fault': truth(status.controlFault),
    'Power Restore Policy': status.restorePolicy,
    'Last Power Event': status.lastEvent,
    'Chassis intrusion': activity(status.intrusion),
    'Front Panel Lockout': activity(status.lockout),
    'Drive Fault': truth(status.driveFault),
    'Cooling Fault': truth(status.coolingFault),
    'Identify Light': status.identify === undefined ? 'N/A' : lights[status.identify],
  };
}
