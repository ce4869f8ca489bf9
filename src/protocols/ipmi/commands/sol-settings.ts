import type { IpmiLink } from '../link.ts';
import { ask, send } from './ask.ts';
import { atLeast, byteAt } from './bytes.ts';

/** IPMI 2.0 section 26: configuration of serial over LAN. */
const transport = 0x0c;
const commands = { set: 0x21, get: 0x22 };
const parameters = { setInProgress: 0, enable: 1, bitRate: 6, rememberedBitRate: 5 };
const progress = { complete: 0, started: 1, commit: 2 };
const enabledBit = 0x01;

/** Table 26-5, parameter 5: bits per second. */
const bitRates: ReadonlyMap<number, string> = new Map([
  [0, 'as the serial port has it'],
  [6, '9600'],
  [7, '19200'],
  [8, '38400'],
  [9, '57600'],
  [10, '115200'],
]);
export const knownBitRates: readonly string[] = [...bitRates.values()].slice(1);

async function get(link: IpmiLink, channel: number, parameter: number, signal: AbortSignal): Promise<Buffer> {
  const data = Uint8Array.of(channel, parameter, 0, 0);
  const request = { netfn: transport, command: commands.get, data, privilege: 'operator' } as const;
  const what = 'to show its settings of serial over LAN';
  return atLeast(await ask(link, request, what, signal, { 0x80: 'it does not have this setting' }), 2, what).subarray(
    1,
  );
}

/** Between "set in progress" and "set complete"; hardware without that lock refuses it: not a failure. */
async function set(
  link: IpmiLink,
  channel: number,
  values: readonly (readonly [parameter: number, value: number])[],
  signal: AbortSignal,
): Promise<void> {
  const request = (parameter: number, value: number) => {
    const data = Uint8Array.of(channel, parameter, value);
    return { netfn: transport, command: commands.set, data, privilege: 'administrator' } as const;
  };
  const mark = (state: number) => send(link, request(parameters.setInProgress, state), signal);
  await mark(progress.started);
  try {
    for (const value of values)
      await ask(link, request(...value), 'to set its serial over LAN', signal, {
        0x80: 'it does not have this setting',
      });
    await mark(progress.commit);
  } finally {
    if (!signal.aborted) await mark(progress.complete);
  }
}

export async function isSolEnabled(link: IpmiLink, channel: number, signal: AbortSignal): Promise<boolean> {
  return (byteAt(await get(link, channel, parameters.enable, signal), 0) & enabledBit) !== 0;
}

export function enableSol(link: IpmiLink, channel: number, on: boolean, signal: AbortSignal): Promise<void> {
  return set(link, channel, [[parameters.enable, on ? enabledBit : 0]], signal);
}

/** Of sessions from now on. */
export async function solBitRate(link: IpmiLink, channel: number, signal: AbortSignal): Promise<string> {
  const rate = byteAt(await get(link, channel, parameters.bitRate, signal), 0) & 0x0f;
  return bitRates.get(rate) ?? `number ${rate}`;
}

/** For good, and from now on. */
export function setSolBitRate(link: IpmiLink, channel: number, rate: string, signal: AbortSignal): Promise<void> {
  const number = [...bitRates].find(([, name]) => name === rate)?.[0] ?? 0;
  const values = [parameters.rememberedBitRate, parameters.bitRate].map((parameter) => [parameter, number] as const);
  return set(link, channel, values, signal);
}
