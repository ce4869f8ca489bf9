import type { IpmiLink } from '../link.ts';
import { completion } from './ask.ts';
import { atLeast, byteAt, uint16 } from './bytes.ts';
import { dcmiExchange } from './dcmi-exchange.ts';

/** DCMI 1.5 section 6.6: power and temperatures. */
const commands = {
  getPowerReading: 0x02,
  getPowerLimit: 0x03,
  setPowerLimit: 0x04,
  activatePowerLimit: 0x05,
  getTemperatures: 0x10,
};
/** Section 6.6.2: the answer to Get Power Limit still holds the values. */
const noActiveLimit = 0x80;

export interface PowerReading {
  readonly current: number;
  readonly minimum: number;
  readonly maximum: number;
  readonly average: number;
  /** Seconds since 1970. */
  readonly time: number;
  readonly period: number;
  readonly active: boolean;
}

export function decodePowerReading(data: Buffer): PowerReading {
  atLeast(data, 17, 'Get Power Reading');
  return {
    current: data.readUInt16LE(0),
    minimum: data.readUInt16LE(2),
    maximum: data.readUInt16LE(4),
    average: data.readUInt16LE(6),
    time: data.readUInt32LE(8),
    period: data.readUInt32LE(12),
    active: (byteAt(data, 16) & 0x40) !== 0,
  };
}

export async function getPowerReading(link: IpmiLink, signal: AbortSignal): Promise<PowerReading> {
  const request = { command: commands.getPowerReading, data: [1, 0, 0], what: 'Get Power Reading' };
  return decodePowerReading((await dcmiExchange(link, request, signal)).data);
}

export interface PowerLimit {
  readonly watts: number;
  readonly exceptionAction: number;
  /** Milliseconds. */
  readonly correctionTime: number;
  /** Seconds. */
  readonly samplingPeriod: number;
}

export function decodePowerLimit(data: Buffer): PowerLimit {
  atLeast(data, 13, 'Get Power Limit');
  return {
    exceptionAction: byteAt(data, 2),
    watts: data.readUInt16LE(3),
    correctionTime: data.readUInt32LE(5),
    samplingPeriod: data.readUInt16LE(11),
  };
}

export function encodePowerLimit(limit: PowerLimit): readonly number[] {
  const { watts, exceptionAction, correctionTime, samplingPeriod } = limit;
  return [
    0,
    0,
    0,
    exceptionAction,
    ...uint16(watts),
    ...uint16(correctionTime & 0xffff),
    ...uint16(correctionTime >>> 16),
    0,
    0,
    ...uint16(samplingPeriod),
  ];
}

/** The limit is undefined if none was ever set. */
export async function getPowerLimit(
  link: IpmiLink,
  signal: AbortSignal,
): Promise<{ active: boolean; limit: PowerLimit | undefined }> {
  const request = { command: commands.getPowerLimit, data: [0, 0], what: 'Get Power Limit' };
  const { code, data } = await dcmiExchange(link, request, signal, [noActiveLimit]);
  const active = code === completion.ok;
  return { active, limit: !active && data.length < 13 ? undefined : decodePowerLimit(data) };
}

export async function setPowerLimit(link: IpmiLink, limit: PowerLimit, signal: AbortSignal): Promise<void> {
  const data = encodePowerLimit(limit);
  const what = `a power limit of ${limit.watts} W`;
  await dcmiExchange(link, { command: commands.setPowerLimit, data, privilege: 'administrator', what }, signal);
}

export async function activatePowerLimit(link: IpmiLink, on: boolean, signal: AbortSignal): Promise<void> {
  const data = [on ? 1 : 0, 0, 0];
  const what = on ? 'to switch its power limit on' : 'to switch its power limit off';
  await dcmiExchange(link, { command: commands.activatePowerLimit, data, privilege: 'administrator', what }, signal);
}

/** Degrees Celsius of each sensor of an entity: 40h inlet, 41h processor, 42h board. */
export function decodeTemperatures(data: Buffer): readonly number[] {
  const count = byteAt(atLeast(data, 2, 'Get Temperature Readings'), 1);
  const readings: number[] = [];
  for (let index = 0; index < count && 3 + 2 * index < data.length; index += 1) {
    const byte = byteAt(data, 2 + 2 * index);
    readings.push(byte & 0x80 ? -(byte & 0x7f) : byte);
  }
  return readings;
}

export async function getTemperatures(link: IpmiLink, entity: number, signal: AbortSignal): Promise<readonly number[]> {
  const request = { command: commands.getTemperatures, data: [0x01, entity, 0, 1], what: 'Get Temperature Readings' };
  return decodeTemperatures((await dcmiExchange(link, request, signal)).data);
}
