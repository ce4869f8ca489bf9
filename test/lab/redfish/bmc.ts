import { createHash } from 'node:crypto';
import { labAccounts } from '../addresses.ts';
import type { ServerResponse } from 'node:http';
import type { BiosMakerName } from './bios-makers.ts';
import type { ConsoleWords, EventWays, RedfishKind } from './protocol.ts';
import type { Json, Resources } from './resource.ts';
import { type BiosSettings, newBiosSettings } from './resources/bios.ts';
import type { WebCertificate } from './resources/certificates.ts';
import { type MediaState, newMedia } from './resources/media.ts';
import { makeUpdateState, type UpdateState } from './update.ts';

export interface Account {
  readonly id: string;
  username: string;
  password: string;
  role: 'Administrator' | 'Operator' | 'ReadOnly' | 'None';
  enabled: boolean;
}

export interface LogEntry {
  readonly id: string;
  readonly created: string;
  readonly severity: string;
  readonly message: string;
}

/** One simulated BMC with the machine behind it. */
export interface Bmc {
  readonly index: number;
  readonly kind: RedfishKind;
  /** PowerSubsystem, ThermalSubsystem and Sensors where older services have Power and Thermal. */
  readonly newStyle: boolean;
  /** Part of all member ids, so that addresses cannot be guessed. */
  readonly tag: string;
  readonly resources: Resources;
  address: string;
  power: 'On' | 'Off' | 'PoweringOn' | 'PoweringOff' | 'Paused';
  powerTimer: NodeJS.Timeout | undefined;
  readonly powerDelay: number;
  boot: { enabled: string; target: string; mode: string };
  /** References of boot options. */
  bootOrder: readonly string[];
  readonly starts: string[];
  readonly resets: string[];
  indicator: 'Off' | 'Lit' | 'Blinking';
  limit: { watts: number; active: boolean };
  assetTag: string;
  log: LogEntry[];
  nextLogId: number;
  readonly accounts: Account[];
  readonly sessions: Map<string, { id: string; account: Account; used: number }>;
  sessionsOpened: number;
  readonly sessionLimit: number;
  network: {
    hostname: string;
    ntp: string[];
    ntpEnabled: boolean;
    snmp: boolean;
    vlan: { enabled: boolean; id: number };
    mask: string;
    gateway: string;
  };
  readonly maker: BiosMakerName;
  readonly bios: BiosSettings;
  /** Settings of the BIOS that it refuses, whatever the registry says. */
  stubborn: readonly string[];
  /** Accepts settings of the network and of the BIOS and drops them. */
  forgetful: boolean;
  /** Telnet and HTTP are enabled, the clock is wrong, the log is full, and an account has no name. */
  weak: boolean;
  tokenless: boolean;
  /** Every new password is against its rules. */
  refusesPasswords: boolean;
  /** Characters that it keeps of a new password. */
  passwordKept: number | undefined;
  host: 'quiesced' | 'chassis' | false;
  /** What its resources say of consoles. */
  console: ConsoleWords;
  starting: boolean;
  events: EventWays | false;
  readonly streams: Set<ServerResponse>;
  readonly subscriptions: Map<string, { destination: string; context: string }>;
  /** OpenBMC's thermal mode. */
  fanProfile: string;
  redundant: boolean;
  readonly web: WebCertificate;
  readonly update: UpdateState;
  media: MediaState;
  /** It is away for so many milliseconds, or for ever; `done` is called when it is away. */
  restart: (away: number | undefined, done: () => void) => void;
  /** Called when the service is told another address for itself. */
  move: (address: string) => void;
}

export interface BmcOptions {
  readonly index: number;
  readonly kind: RedfishKind;
  readonly address: string;
  readonly powerDelay: number;
  readonly sessionLimit: number;
  readonly maker: BiosMakerName;
}

export const lowestLimit = 50;
export const highestLimit = 1500;

export function makeBmc({ index, kind, address, powerDelay, sessionLimit, maker }: BmcOptions): Bmc {
  const { administrator, operator, user } = labAccounts;
  const bmc: Bmc = {
    index,
    kind,
    address,
    powerDelay,
    sessionLimit,
    newStyle: index % 2 === 1,
    tag: createHash('md5').update(`redfish-lab-${index}`).digest('hex').slice(0, 6),
    resources: new Map(),
    power: 'Off',
    powerTimer: undefined,
    boot: {
      enabled: 'Disabled',
      target: 'None',
      mode: 'UEFI',
    },
    bootOrder: ['Boot0001', 'Boot0002', 'Boot0003', 'Boot0004'],
    starts: [],
    resets: [],
    indicator: 'Off',
    limit: {
      watts: 500,
      active: false,
    },
    assetTag: `ASSET${serial(index)}`,
    log: [],
    nextLogId: 1,
    accounts: [
      {
        ...administrator,
        id: '1',
        role: 'Administrator',
        enabled: true,
      },
      {
        ...operator,
        id: '2',
        role: 'Operator',
        enabled: true,
      },
      {
        ...user,
        id: '3',
        role: 'ReadOnly',
        enabled: true,
      },
    ],
    sessions: new Map(),
    sessionsOpened: 0,
    network: {
      hostname: `bmc${index}`,
      ntp: [],
      ntpEnabled: false,
      snmp: false,
      vlan: {
        enabled: false,
        id: 0,
      },
      mask: '255.0.0.0',
      gateway: '127.0.0.1',
    },
    maker,
    bios: newBiosSettings({ maker }),
    stubborn: [],
    forgetful: false,
    weak: false,
    tokenless: false,
    refusesPasswords: false,
    passwordKept: undefined,
    host: false,
    console: {},
    starting: false,
    events: false,
    streams: new Set(),
    subscriptions: new Map(),
    fanProfile: 'DEFAULT',
    redundant: true,
    web: { pem: '', key: '', requestedKey: undefined, later: undefined, faults: {}, serve: () => {} },
    update: makeUpdateState(index),
    media: newMedia(kind),
    restart: (_away, done) => done(),
    move: () => {},
  };
  addLog(bmc, 'The BMC has started.', 'OK', '2026-01-05T06:07:08Z');
  addLog(bmc, 'Power supply 1 has lost its input.', 'Critical', '2026-01-05T06:08:09+00:00');
  addLog(bmc, 'Power supply 1 has its input back.', 'OK', '2026-01-05T06:09:10+00:00');
  return bmc;
}

export const serial = (index: number): string => String(index).padStart(6, '0');

export function uuid(index: number, what: string): string {
  const digits = createHash('md5').update(`${what}-${index}`).digest('hex');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.*)$/, '$1-$2-$3-$4-$5');
}

export function addLog(bmc: Bmc, message: string, severity = 'OK', created = new Date().toISOString()): void {
  bmc.log.push({ id: String(bmc.nextLogId), created, severity, message });
  bmc.nextLogId += 1;
}

export function watts(bmc: Bmc): number {
  if (bmc.power !== 'On') return 8;
  const used = 120 + (bmc.index % 60);
  return bmc.limit.active ? Math.min(used, bmc.limit.watts) : used;
}

export const healthy: Json = { State: 'Enabled', Health: 'OK' };

/** A fan turns only while the machine runs. */
export const fanSpeed = (bmc: Bmc, fan: number): number =>
  bmc.power === 'On' ? 6000 + 120 * fan + (bmc.index % 50) : 0;

export const inletCelsius = (bmc: Bmc): number => 20 + (bmc.index % 10);
export const cpuCelsius = (bmc: Bmc): number => (bmc.power === 'On' ? 40 + (bmc.index % 20) : inletCelsius(bmc));
