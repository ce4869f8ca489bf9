import { Type } from 'typebox';
import { AddressGuard } from '../../core/address-guard.ts';
import { Fault } from '../../core/errors.ts';
import { Count, kind, setting } from '../../core/settings.ts';
import { IpmiClient, type IpmiEndpoint, type SerialConsole, type SerialOptions } from '../../protocols/ipmi/client.ts';
import { getDeviceId } from '../../protocols/ipmi/commands/device.ts';
import { sdrCache } from '../../protocols/ipmi/commands/sdr.ts';
import { limits } from '../../protocols/ipmi/commands/users.ts';
import { WrongPassword } from '../../protocols/ipmi/faults.ts';
import type { IpmiLink } from '../../protocols/ipmi/link.ts';
import { accessProblems, type BmcAccess, bmcAttributes, type BmcKind, bmcTarget, guarded } from '../bmc/target.ts';
import type { Accounts } from '../accounts.ts';
import type { Capabilities, Offered, ServiceProcessor, Subnodes } from '../capabilities.ts';
import { type Driver, driverKind } from '../driver.ts';
import { ipmiAccounts } from './accounts.ts';
import { ipmiBeacon, ipmiPower } from './power.ts';
import { type Bmc, type Identity, type IpmiTimes, readIdentity } from './bmc.ts';
import { ipmiConsole } from './console.ts';
import { ipmiEnergy } from './energy.ts';
import { ipmiEventLog } from './event-log.ts';
import { ipmiInventory } from './inventory.ts';
import { ipmiNextBoot } from './next-boot.ts';
import { getSetting, setSettings } from './service-processor.ts';
import { ipmiPosture } from './posture.ts';
import { ipmiVitals } from './vitals.ts';

/** Whatever opens sessions: one link for each endpoint. */
export interface IpmiConnections {
  link(endpoint: IpmiEndpoint): IpmiLink;
  openSerial(endpoint: IpmiEndpoint, options: SerialOptions, signal: AbortSignal): Promise<SerialConsole>;
  readonly sessions?: number;
  close(): Promise<void>;
}

export interface IpmiDriverOptions extends Partial<IpmiTimes> {
  /** How long a BMC may be silent, in milliseconds. */
  readonly ipmiTimeout?: number | undefined;
  /** Cipher suites that may be used, in the order in which they are tried. */
  readonly ipmiSuites?: readonly (17 | 3)[] | undefined;
  /** By default every address is fine. */
  readonly guard?: AddressGuard;
  /** By default sessions of its own. */
  readonly connections?: IpmiConnections;
  /** Who answers at another address; by default asked of whoever lets us in there. */
  readonly identityAt?: (address: string, signal: AbortSignal) => Promise<Identity>;
}

/** IPMI knows one server per BMC. */
const ipmiSubnodes: Subnodes = {
  async list() {
    throw new Fault(
      'invalid',
      'it is a single server with mgt=ipmi and has no subnodes; a chassis or management module that has some is managed with mgt=redfish.',
    );
  },
};

const offers = [
  'power',
  'vitals',
  'inventory',
  'eventLog',
  'nextBoot',
  'beacon',
  'energy',
  'subnodes',
  'serviceProcessor',
  'posture',
  'console',
  'accounts',
] as const satisfies readonly (keyof Capabilities)[];

/** Made for every node of a request, of which one is used: so each is made when it is asked for. */
class IpmiCapabilities implements Offered<typeof offers> {
  readonly #bmc: Bmc;
  readonly #accounts: () => Accounts;

  constructor(bmc: Bmc, accounts: () => Accounts) {
    this.#bmc = bmc;
    this.#accounts = accounts;
  }

  get accounts() {
    return this.#accounts();
  }

  get power() {
    return ipmiPower(this.#bmc);
  }

  get vitals() {
    return ipmiVitals(this.#bmc);
  }

  get inventory() {
    return ipmiInventory(this.#bmc);
  }

  get eventLog() {
    return ipmiEventLog(this.#bmc);
  }

  get nextBoot() {
    return ipmiNextBoot(this.#bmc);
  }

  get beacon() {
    return ipmiBeacon(this.#bmc);
  }

  get posture() {
    return ipmiPosture(this.#bmc);
  }

  get energy() {
    return ipmiEnergy(this.#bmc);
  }

  get subnodes() {
    return ipmiSubnodes;
  }

  get console() {
    return ipmiConsole(this.#bmc);
  }

  get serviceProcessor(): ServiceProcessor {
    const bmc = this.#bmc;
    const processor: ServiceProcessor = {
      get: (attribute, signal) => getSetting(bmc, attribute, signal),
      set: (settings, signal) => setSettings(bmc, settings, this.#accounts, signal),
    };
    return guarded(processor, bmc.guard);
  }
}

/** Text, or hexadecimal after 0x, as BMCs' own tools take it. */
const keyBytes = (key: string): Buffer =>
  /^0x([0-9a-f]{2})+$/i.test(key) ? Buffer.from(key.slice(2), 'hex') : Buffer.from(key);

export function ipmiProblems(access: BmcAccess): readonly string[] {
  const problems = accessProblems(access, 'ipmi');
  for (const [what, text, most] of [
    ['user name', access.username, limits.name],
    ['password', access.password, limits.password],
  ] as const) {
    if (Buffer.byteLength(text) > most) problems.push(`the ${what} for IPMI may have at most ${most} bytes.`);
  }
  return problems;
}

/** By a session of its own: one that is open says nothing of the password. */
async function logsIn(endpoint: IpmiEndpoint, timing: { timeout?: number }, signal: AbortSignal): Promise<boolean> {
  const client = new IpmiClient(timing);
  try {
    await getDeviceId(client.link(endpoint), signal);
    return true;
  } catch (error) {
    if (error instanceof WrongPassword) return false;
    throw error;
  } finally {
    await client.close();
  }
}

export function ipmiDriver(options: IpmiDriverOptions): Driver<BmcAccess> {
  const { guard = new AddressGuard(undefined), ipmiTimeout: timeout } = options;
  const timing = timeout === undefined ? {} : { timeout };
  const { connections = new IpmiClient(timing) } = options;
  const { powerTimeout = 60_000, addressTimeout = 60_000, cycleSettling = 1_500 } = options;
  const times: IpmiTimes = { powerTimeout, addressTimeout, cycleSettling };
  const sdr = sdrCache();

  const endpointOf = ({ address, port, username, password, key }: BmcAccess): IpmiEndpoint => ({
    address,
    port,
    username,
    password,
    kg: key === undefined ? undefined : keyBytes(key),
    suites: options.ipmiSuites,
  });

  const bmcKind: BmcKind = {
    name: 'ipmi',
    guard,
    problems: ipmiProblems,
    extras: ({ account }, username) => ({ key: account('ipmikg', username)?.password }),
  };
  return {
    name: 'ipmi',
    offers,
    attributes: bmcAttributes,
    target: (node) => bmcTarget(node, bmcKind),
    connect(access) {
      const link = connections.link(endpointOf(access));
      const bmc: Bmc = {
        access,
        guard,
        link,
        times,
        openSerial: (serial, signal) => connections.openSerial(endpointOf(access), serial, signal),
        records: (signal) => sdr.records(`${access.address}:${access.port ?? ''}`, link, signal),
        identityAt:
          options.identityAt ??
          ((address, signal) => readIdentity(connections.link({ ...endpointOf(access), address }), signal)),
      };
      const endpoint = endpointOf(access);
      const letsIn: Accounts['letsIn'] = (username, password = access.password, signal) =>
        logsIn({ ...endpoint, username, password }, timing, signal);
      const linkBy = (password: string): IpmiLink => connections.link({ ...endpoint, password });
      return new IpmiCapabilities(bmc, () => ipmiAccounts(bmc, letsIn, linkBy));
    },
    sessions: () => connections.sessions ?? 0,
    close: () => connections.close(),
  };
}

const CipherSuites = kind('a list of the IPMI cipher suites 17 and 3', Type.Array(Type.Enum([17, 3]), { minItems: 1 }));

export const ipmi = driverKind({
  settings: {
    ipmiTimeout: setting(
      Count,
      'seconds to wait for an answer of a BMC over IPMI before its command fails; up to twice as long while all BMCs or muster itself are slow',
      { default: 5, variable: 'MUSTER_IPMI_TIMEOUT' },
    ),
    ipmiSuites: setting(CipherSuites, 'IPMI cipher suites to use, in order of preference', {
      default: [17, 3],
      variable: 'MUSTER_IPMI_SUITES',
    }),
  },
  open: ({ ipmiTimeout = 5, ipmiSuites }, options) =>
    ipmiDriver({ ...options, ipmiTimeout: ipmiTimeout * 1_000, ipmiSuites }),
});
