import type { IpmiLink } from '../link.ts';
import { ask } from './ask.ts';
import { atLeast, byteAt } from './bytes.ts';

/** IPMI 2.0 section 28: chassis commands. */
const chassis = 0x00;
const commands = { getStatus: 0x01, control: 0x02, identify: 0x04 };

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
  /** Undefined where the hardware does not tell. */
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
