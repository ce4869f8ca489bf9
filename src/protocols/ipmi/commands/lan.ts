import type { IpmiLink, IpmiRequest } from '../link.ts';
import { ask, completion, refusal, send, unanswered } from './ask.ts';
import { atLeast, byteAt } from './bytes.ts';

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
  if (response.code !== completion.ok) throw refusal(`to tell its ${lanName(parameter)}`, response.code);
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
