import type { IpmiLink, IpmiResponse } from '../link.ts';
import { ask, refusal, send } from './ask.ts';
import { atLeast, byteAt, garbled } from './bytes.ts';

/** IPMI 2.0 sections 28.12 to 28.13: system boot options, table 28-14. */
const chassis = 0x00;
const commands = { setBootOptions: 0x08, getBootOptions: 0x09 };
const parameters = { setInProgress: 0, validBitClearing: 3, acknowledge: 4, flags: 5 };
const progress = { complete: 0, started: 1 };
/** Keep the flags when no chassis control comes within 60 s. */
const keepAfterTimeout = 0x08;

export const bootDevices = {
  none: 0x0,
  network: 0x1,
  disk: 0x2,
  safeDisk: 0x3,
  diagnostics: 0x4,
  cd: 0x5,
  setup: 0x6,
  remoteFloppy: 0x7,
  remoteCd: 0x8,
  remoteMedia: 0x9,
  remoteDisk: 0xb,
  floppy: 0xf,
} as const;

export type BootDevice = keyof typeof bootDevices;

export interface BootFlags {
  readonly valid: boolean;
  readonly persistent: boolean;
  /** Undefined: a device the standard has not. */
  readonly device: BootDevice | undefined;
}

const deviceNames = new Map(Object.entries(bootDevices).map(([name, code]) => [code as number, name as BootDevice]));

/** The five bytes of parameter 5. */
export function decodeBootFlags(data: Buffer): BootFlags {
  atLeast(data, 5, 'Get System Boot Options');
  const first = byteAt(data, 0);
  return {
    valid: (first & 0x80) !== 0,
    persistent: (first & 0x40) !== 0,
    device: deviceNames.get((byteAt(data, 1) >> 2) & 0x0f),
  };
}

export interface BootOverride {
  readonly device: BootDevice;
  readonly persistent: boolean;
  readonly efi: boolean;
}

/** Undefined: no override, every bit clear. */
export function encodeBootFlags(override: BootOverride | undefined): Buffer {
  if (override === undefined) return Buffer.alloc(5);
  const first = 0x80 | (override.persistent ? 0x40 : 0) | (override.efi ? 0x20 : 0);
  return Buffer.of(first, bootDevices[override.device] << 2, 0, 0, 0);
}

export async function getBootFlags(link: IpmiLink, signal: AbortSignal): Promise<BootFlags> {
  const data = Buffer.of(parameters.flags, 0, 0);
  const what = 'Get System Boot Options';
  const request = { netfn: chassis, command: commands.getBootOptions, data, privilege: 'operator' } as const;
  const answer = await ask(link, request, what, signal);
  if ((byteAt(atLeast(answer, 7, what), 1) & 0x7f) !== parameters.flags) throw garbled(what, answer);
  return decodeBootFlags(answer.subarray(2));
}

function setParameter(
  link: IpmiLink,
  parameter: number,
  value: readonly number[],
  signal: AbortSignal,
): Promise<IpmiResponse> {
  const data = Buffer.of(parameter, ...value);
  return send(link, { netfn: chassis, command: commands.setBootOptions, data, privilege: 'operator' }, signal);
}

/** Only parameter 5 has to succeed: hardware may refuse the lock, the acknowledgement and the 60 s, and take the flags. */
export async function setBootFlags(
  link: IpmiLink,
  override: BootOverride | undefined,
  signal: AbortSignal,
): Promise<void> {
  await setParameter(link, parameters.validBitClearing, [keepAfterTimeout], signal);
  await setParameter(link, parameters.setInProgress, [progress.started], signal);
  const response = await setParameter(link, parameters.flags, [...encodeBootFlags(override)], signal);
  if (response.code === 0) await setParameter(link, parameters.acknowledge, [0x01, 0x01], signal);
  await setParameter(link, parameters.setInProgress, [progress.complete], signal);
  if (response.code !== 0) throw refusal('the boot device', response.code);
}
