import { Fault } from '../../../core/errors.ts';
import type { IpmiLink, Privilege } from '../link.ts';
import { completion, refusal, send } from './ask.ts';
import { atLeast, byteAt, garbled, uint16 } from './bytes.ts';

/** DCMI 1.5 sections 6.6 (power and temperatures) and 6.4.6 (management controller identifier string). */
const commands = {
  getPowerReading: 0x02,
  getPowerLimit: 0x03,
  setPowerLimit: 0x04,
  activatePowerLimit: 0x05,
  getControllerId: 0x09,
  setControllerId: 0x0a,
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

/** DCMI 1.5 section 6: group extension, netfn 2Ch, every message of either direction starts with DCh. */
const groupExtension = 0x2c;
const group = 0xdc;
const ownCodes = {
  0x80: 'no limit is set',
  0x84: 'the limit is out of the range it can keep',
  0x85: 'the correction time is out of range',
  0x89: 'the sampling period is out of range',
};

export interface DcmiRequest {
  readonly command: number;
  readonly data: readonly number[];
  readonly privilege?: Privilege;
  readonly what: string;
}

/** The completion code, if it is 0 or one of those accepted, and the data after the group byte. */
export async function dcmiExchange(
  link: IpmiLink,
  request: DcmiRequest,
  signal: AbortSignal,
  accept: readonly number[] = [],
): Promise<{ code: number; data: Buffer }> {
  const { command, privilege = 'user', what } = request;
  const data = Buffer.of(group, ...request.data);
  const { code, data: answer } = await send(link, { netfn: groupExtension, command, data, privilege }, signal);
  if (code === completion.unknownCommand) {
    throw new Fault('invalid', 'its BMC has no DCMI, which its power figures and limits need.');
  }
  if (code !== completion.ok && !accept.includes(code)) throw refusal(what, code, ownCodes);
  if (answer.length > 0 && byteAt(answer, 0) !== group) throw garbled(what, answer);
  return { code, data: answer.subarray(1) };
}

/** 64 bytes with the zero that ends the text. */
export const maximumControllerId = 63;
const pieceLength = 16;

/** The controller's host name, as it announces it in DHCP. */
export async function getControllerId(link: IpmiLink, signal: AbortSignal): Promise<string> {
  const pieces: Buffer[] = [];
  for (let offset = 0; offset <= maximumControllerId; ) {
    const request = { command: commands.getControllerId, data: [offset, pieceLength], what: 'to show its host name' };
    const { data } = await dcmiExchange(link, request, signal);
    const total = byteAt(atLeast(data, 1, request.what), 0);
    const piece = data.subarray(1, 1 + pieceLength);
    pieces.push(piece);
    offset += piece.length;
    if (piece.length === 0 || piece.includes(0) || offset >= total) break;
  }
  const text = Buffer.concat(pieces);
  const end = text.indexOf(0);
  return text.subarray(0, end < 0 ? text.length : end).toString('latin1');
}

export async function setControllerId(link: IpmiLink, name: string, signal: AbortSignal): Promise<void> {
  const bytes = Buffer.from(`${name}\0`, 'latin1');
  for (let offset = 0; offset < bytes.length; offset += pieceLength) {
    const piece = bytes.subarray(offset, offset + pieceLength);
    const data = [offset, piece.length, ...piece];
    const request = {
      command: commands.setControllerId,
      data,
      privilege: 'administrator',
      what: 'its host name',
    } as const;
    await dcmiExchange(link, request, signal);
  }
}
