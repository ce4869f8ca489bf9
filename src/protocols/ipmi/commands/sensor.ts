import type { IpmiLink } from '../link.ts';
import { ask, completion, refusal, send } from './ask.ts';
import { atLeast, byteAt } from './bytes.ts';
import { decodeFactors, type SensorRecord } from './sdr-record.ts';
import { convert, firstNonLinear } from './units.ts';

/** IPMI 2.0 section 35: sensor device commands. */
const sensorEvent = 0x04;
const commands = { getReadingFactors: 0x23, getReading: 0x2d };
/** What a sensor answers that is not there or not readable now: no reading, and no reason to fail. */
const withoutReading: readonly number[] = [completion.notPresent, 0xcd, 0xce, 0xd5, 0xc1, 0xc9, 0xcc];

/** Only sensors of this owner can be read without a bridge to another controller. */
const ownController = 0x20;

export interface SensorReading {
  readonly raw: number;
  /** The asserted states, one bit each. */
  readonly states: number;
}

/** Undefined if there is no reading now. */
export function decodeReading(data: Buffer): SensorReading | undefined {
  atLeast(data, 2, 'Get Sensor Reading');
  const flags = byteAt(data, 1);
  const scanning = (flags & 0x40) !== 0;
  const unavailable = (flags & 0x20) !== 0;
  if (!scanning || unavailable) return undefined;
  return { raw: byteAt(data, 0), states: byteAt(data, 2) | ((byteAt(data, 3) & 0x7f) << 8) };
}

export async function getReading(
  link: IpmiLink,
  sensor: SensorRecord,
  signal: AbortSignal,
): Promise<SensorReading | undefined> {
  if (!sensor.readable || sensor.owner !== ownController || sensor.lun !== 0) return undefined;
  const data = Buffer.of(sensor.number);
  const response = await send(link, { netfn: sensorEvent, command: commands.getReading, data }, signal);
  if (withoutReading.includes(response.code)) return undefined;
  if (response.code !== completion.ok) throw refusal(`to read the sensor "${sensor.name}"`, response.code);
  return decodeReading(response.data);
}

/** The value in the sensor's unit; undefined without a reading or for a sensor that has only states. */
export async function getValue(link: IpmiLink, sensor: SensorRecord, signal: AbortSignal): Promise<number | undefined> {
  const { conversion } = sensor;
  if (conversion === undefined) return undefined;
  const reading = await getReading(link, sensor, signal);
  if (reading === undefined) return undefined;
  if (conversion.linearization < firstNonLinear) return convert(reading.raw, conversion);
  const data = Buffer.of(sensor.number, reading.raw);
  const what = 'Get Sensor Reading Factors';
  const answer = await ask(link, { netfn: sensorEvent, command: commands.getReadingFactors, data }, what, signal);
  const factors = decodeFactors(atLeast(answer, 7, what).subarray(1));
  return convert(reading.raw, { ...conversion, ...factors, linearization: 0 });
}
