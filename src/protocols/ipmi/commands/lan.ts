import { isIPv4 } from 'node:net';
import type { IpmiLink, IpmiRequest } from '../link.ts';
import { ask, completion, refusal, send, unanswered } from './ask.ts';
import { atLeast, byteAt, uint16 } from './bytes.ts';

/** Values of LAN configuration parameters: IPMI 2.0 table 23-4. */

/** Six bytes as `02:00:00:00:00:01`. */
export function decodeMac(value: Buffer): string {
  const bytes = atLeast(value, 6, 'MAC address').subarray(0, 6);
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':');
}

export function decodeIpv4(data: Buffer): string {
  return [...atLeast(data, 4, 'Get LAN Configuration Parameters').subarray(0, 4)].join('.');
}

/** Undefined if the text is no IPv4 address. */
export function encodeIpv4(text: string): Buffer | undefined {
  return isIPv4(text) ? Buffer.from(text.split('.').map(Number)) : undefined;
}

/** A mask is ones, then zeros. */
export function isNetmask(text: string): boolean {
  const bytes = encodeIpv4(text);
  if (bytes === undefined) return false;
  const inverted = ~bytes.readUInt32BE(0) >>> 0;
  return (inverted & (inverted + 1)) === 0;
}

/** Undefined: disabled. */
export function decodeVlan(data: Buffer): number | undefined {
  atLeast(data, 2, 'Get LAN Configuration Parameters');
  return byteAt(data, 1) & 0x80 ? data.readUInt16LE(0) & 0x0fff : undefined;
}

export function encodeVlan(id: number | undefined): Buffer {
  return Buffer.of(...uint16(id === undefined ? 0 : 0x8000 | id));
}

export const maximumCommunity = 18;

export function decodeCommunity(data: Buffer): string {
  const end = data.indexOf(0);
  return data.subarray(0, end < 0 ? maximumCommunity : end).toString('latin1');
}

export function encodeCommunity(text: string): Buffer {
  const data = Buffer.alloc(maximumCommunity);
  data.write(text, 'latin1');
  return data;
}

/** Seconds; the wire counts halves. */
export function decodeArpInterval(data: Buffer): number {
  return byteAt(atLeast(data, 1, 'Get LAN Configuration Parameters'), 0) / 2;
}

export const maximumArpInterval = 127;

export function encodeArpInterval(seconds: number): Buffer {
  return Buffer.of(Math.round(seconds * 2));
}

/** The address traps are sent to; the first byte is the number of the destination. */
export function decodeDestination(data: Buffer): string {
  return decodeIpv4(atLeast(data, 7, 'Get LAN Configuration Parameters').subarray(3));
}

/** By the default gateway, MAC address to be found by ARP. */
export function encodeDestination(number: number, address: Buffer): Buffer {
  return Buffer.concat([Buffer.of(number, 0, 0), address, Buffer.alloc(6)]);
}

/** Platform event trap, not acknowledged, five seconds, no retries. */
export function encodeTrapDestination(number: number): Buffer {
  return Buffer.of(number, 0, 5, 0);
}

/** IPMI 2.0 sections 22.24 (channel info) and 23 (LAN configuration, table 23-4). */
const app = 0x06;
const transport = 0x0c;
const commands = { setLan: 0x01, getLan: 0x02, getChannelInfo: 0x42 };
const progress = { complete: 0, started: 1, commit: 2 };
/** "The channel this request came in on." */
const presentChannel = 0x0e;
const usualLanChannel = 1;

/** Their numbers, and what sentences call them. */
const parameters = {
  setInProgress: [0, 'lock of the LAN settings'],
  address: [3, 'IP address'],
  source: [4, 'source of the IP address'],
  mac: [5, 'MAC address'],
  netmask: [6, 'netmask'],
  arpInterval: [11, 'interval of gratuitous ARPs'],
  gateway: [12, 'default gateway'],
  backupGateway: [14, 'backup gateway'],
  community: [16, 'SNMP community'],
  destinationCount: [17, 'number of SNMP destinations'],
  destinationType: [18, 'SNMP destination'],
  destination: [19, 'SNMP destination'],
  vlan: [20, 'VLAN'],
  suites: [23, 'list of cipher suites'],
  suiteLevels: [24, 'levels of its cipher suites'],
} as const;

export type LanParameter = keyof typeof parameters;

export const lanName = (parameter: LanParameter): string => parameters[parameter][1];

/** Table 23-1 and 23-2, the codes of these two commands. */
const ownCodes = { 0x80: 'it does not have this setting', 0x82: 'this setting can only be read' };
/** How hardware says that a destination of a number is not there. */
const noSuchSelector: ReadonlySet<number> = new Set([completion.notPresent, 0xc9, 0xcc]);

/** The number of the channel in use. */
export async function lanChannel(link: IpmiLink, signal: AbortSignal): Promise<number> {
  const data = Buffer.of(presentChannel);
  const response = await send(link, { netfn: app, command: commands.getChannelInfo, data }, signal);
  const known = response.code === completion.ok && response.data.length > 0;
  return known ? byteAt(response.data, 0) & 0x0f : usualLanChannel;
}

/** The value of a parameter; undefined if the hardware has it not. */
export async function getLanParameter(
  link: IpmiLink,
  channel: number,
  parameter: LanParameter,
  signal: AbortSignal,
  selector = 0,
): Promise<Buffer | undefined> {
  const data = Buffer.of(channel, parameters[parameter][0], selector, 0);
  const request = { netfn: transport, command: commands.getLan, data, privilege: 'operator' } as const;
  const response = await send(link, request, signal);
  const isAbsent = selector > 0 && noSuchSelector.has(response.code);
  if (isAbsent || response.code === completion.unsupportedParameter) return undefined;
  if (response.code !== completion.ok) throw refusal(`to show its ${lanName(parameter)}`, response.code);
  return atLeast(response.data, 1, 'Get LAN Configuration Parameters').subarray(1);
}

export interface LanSetting {
  readonly parameter: LanParameter;
  readonly value: Uint8Array;
}

function setRequest(channel: number, parameter: LanParameter, value: Uint8Array): IpmiRequest {
  const data = Buffer.of(channel, parameters[parameter][0], ...value);
  return { netfn: transport, command: commands.setLan, data, privilege: 'administrator' };
}

const marking = (link: IpmiLink, channel: number, signal: AbortSignal) => (state: number) =>
  send(link, setRequest(channel, 'setInProgress', Buffer.of(state)), signal);

/** Sets parameters between "set in progress" and "set complete"; hardware without that lock refuses it: not a failure. */
export async function setLanParameters(
  link: IpmiLink,
  channel: number,
  settings: readonly LanSetting[],
  signal: AbortSignal,
): Promise<void> {
  const mark = marking(link, channel, signal);
  await mark(progress.started);
  for (const { parameter, value } of settings) {
    const { code } = await send(link, setRequest(channel, parameter, value), signal);
    if (code === completion.ok) continue;
    await mark(progress.complete);
    throw refusal(`to set its ${lanName(parameter)}`, code, ownCodes);
  }
  await mark(progress.commit);
  await mark(progress.complete);
}

/** Gives the controller another address. With the old one the answers may go astray, so their absence is no failure. */
export async function moveLanAddress(
  link: IpmiLink,
  channel: number,
  address: Uint8Array,
  signal: AbortSignal,
): Promise<void> {
  const mark = marking(link, channel, signal);
  await mark(progress.started);
  try {
    await ask(link, { ...setRequest(channel, 'address', address), repeatable: false }, 'to set its IP address', signal);
    await mark(progress.commit);
    await mark(progress.complete);
  } catch (error) {
    if (!unanswered(error, signal)) throw error;
  }
}

/** IPMI 2.0 sections 30.3 and 30.4: platform event filtering, table 30-6. */
const sensorEvent = 0x04;
const filterCommands = { setParameter: 0x12, getParameter: 0x13 };
const filterParameters = { control: 1, actions: 2, alertPolicy: 9 };
const enabled = { control: 0x01, alertAction: 0x01, policy: 0x08 };
const firstPolicy = 1;
/** Policy set 1, sent always. */
const policySet = 0x10;

async function get(link: IpmiLink, parameter: number, selector: number, signal: AbortSignal): Promise<Buffer> {
  const data = Buffer.of(parameter, selector, 0);
  const what = 'to show its alert settings';
  const request = { netfn: sensorEvent, command: filterCommands.getParameter, data, privilege: 'operator' } as const;
  const answer = await ask(link, request, what, signal);
  return atLeast(answer, 2, what).subarray(1);
}

async function set(link: IpmiLink, parameter: number, value: readonly number[], signal: AbortSignal): Promise<void> {
  const data = Buffer.of(parameter, ...value);
  const request = {
    netfn: sensorEvent,
    command: filterCommands.setParameter,
    data,
    privilege: 'administrator',
  } as const;
  await ask(link, request, 'its alert settings', signal);
}

/** Whether events lead to alerts: filtering on, alerts among its actions, and the first policy in force. */
export async function getAlerting(link: IpmiLink, signal: AbortSignal): Promise<boolean> {
  const control = await get(link, filterParameters.control, 0, signal);
  const actions = await get(link, filterParameters.actions, 0, signal);
  const policy = await get(link, filterParameters.alertPolicy, firstPolicy, signal);
  return (
    (byteAt(control, 0) & enabled.control) !== 0 &&
    (byteAt(actions, 0) & enabled.alertAction) !== 0 &&
    (byteAt(policy, 1) & enabled.policy) !== 0
  );
}

/** Off takes only the policy out of force; other actions of the filter, such as a power-off, stay as they are. */
export async function setAlerting(link: IpmiLink, channel: number, on: boolean, signal: AbortSignal): Promise<void> {
  const policy = await get(link, filterParameters.alertPolicy, firstPolicy, signal);
  if (!on) {
    const bits = byteAt(policy, 1) & ~enabled.policy;
    await set(link, filterParameters.alertPolicy, [firstPolicy, bits, byteAt(policy, 2), byteAt(policy, 3)], signal);
    return;
  }
  const control = await get(link, filterParameters.control, 0, signal);
  const actions = await get(link, filterParameters.actions, 0, signal);
  const destination = byteAt(policy, 2) || (channel << 4) | firstPolicy;
  const bits = (byteAt(policy, 1) || policySet) | enabled.policy;
  await set(link, filterParameters.alertPolicy, [firstPolicy, bits, destination, byteAt(policy, 3)], signal);
  await set(link, filterParameters.actions, [byteAt(actions, 0) | enabled.alertAction], signal);
  await set(link, filterParameters.control, [byteAt(control, 0) | enabled.control], signal);
}
