import type { IpmiLink, IpmiResponse } from '../link.ts';
import { ask, refusal, send } from './ask.ts';
import { atLeast, byteAt, garbled } from './bytes.ts';

/** IPMI 2.0 section 28: chassis commands. */
const chassis = 0x00;
const commands = { getStatus: 0x01, control: 0x02, identify: 0x04, setBootOptions: 0x08, getBootOptions: 0x09 };

/** Chassis Control, table 28-4. */
const controls = { off: 0, on: 1, cycle: 2, reset: 3, nmi: 4, softoff: 5 } as const;

export type ChassisControl = keyof typeof controls;

const restorePolicies = ['Always off', 'Last state', 'Always on', 'Unknown'] as const;

export interface ChassisStatus {
  readonly power: boolean;
  readonly overload: boolean;
  readonly interlock: boolean;
  readonly fault: boolean;
  readonly controlFault: boolean;
  readonly restorePolicy: string;
  readonly lastEvent: string;
  readonly intrusion: boolean;
  readonly lockout: boolean;
  readonly driveFault: boolean;
  readonly coolingFault: boolean;
  /** Undefined where the hardware does not report it. */
  readonly identify: 'off' | 'timed' | 'on' | undefined;
}

/** Table 28-3, byte 3, lowest bit first. */
const powerEvents = ['AC failed', 'Power overload', 'Power interlock', 'Power fault', 'By Request'];
const identifyStates = ['off', 'timed', 'on', undefined] as const;

export function decodeChassisStatus(data: Buffer): ChassisStatus {
  atLeast(data, 3, 'Get Chassis Status');
  const power = byteAt(data, 0);
  const events = byteAt(data, 1);
  const misc = byteAt(data, 2);
  const happened = events === 0 ? [] : powerEvents.filter((_, bit) => events & (1 << bit));
  return {
    power: (power & 0x01) !== 0,
    overload: (power & 0x02) !== 0,
    interlock: (power & 0x04) !== 0,
    fault: (power & 0x08) !== 0,
    controlFault: (power & 0x10) !== 0,
    restorePolicy: restorePolicies[(power >> 5) & 0x03] ?? 'Unknown',
    lastEvent: happened.length > 0 ? happened.join(', ') : 'none',
    intrusion: (misc & 0x01) !== 0,
    lockout: (misc & 0x02) !== 0,
    driveFault: (misc & 0x04) !== 0,
    coolingFault: (misc & 0x08) !== 0,
    identify: misc & 0x40 ? identifyStates[(misc >> 4) & 0x03] : undefined,
  };
}

const getStatus = { netfn: chassis, command: commands.getStatus };

export function getChassisStatus(link: IpmiLink, signal: AbortSignal): Promise<ChassisStatus> {
  return ask(link, getStatus, 'Get Chassis Status', signal).then(decodeChassisStatus);
}

/** Never repeated by the link: a repeated reset is a second reset. */
export async function chassisControl(link: IpmiLink, action: ChassisControl, signal: AbortSignal): Promise<void> {
  const data = Buffer.of(controls[action]);
  const request = {
    netfn: chassis,
    command: commands.control,
    data,
    privilege: 'operator',
    repeatable: false,
  } as const;
  await ask(link, request, `the power action "${action}"`, signal);
}

/** For a number of seconds (0: off), or until switched off. */
export async function identify(link: IpmiLink, duration: number | 'indefinite', signal: AbortSignal): Promise<void> {
  const data = duration === 'indefinite' ? Buffer.of(0, 1) : Buffer.of(Math.min(duration, 255));
  const request = { netfn: chassis, command: commands.identify, data, privilege: 'operator' } as const;
  await ask(link, request, 'to change the identify light', signal);
}

/** IPMI 2.0 sections 28.12 to 28.13: system boot options, table 28-14. */
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
