import { AddressGuard } from '../../core/address-guard.ts';
import { IpmiClient, type IpmiEndpoint } from '../../protocols/ipmi/client.ts';
import { sdrCache } from '../../protocols/ipmi/commands/sdr-cache.ts';
import type { IpmiLink } from '../../protocols/ipmi/link.ts';
import { type BmcAccess, type BmcKind, bmcAttributes, bmcTarget, guarded } from '../bmc/target.ts';
import type { Capabilities, Driver, ServiceProcessor } from '../capabilities.ts';
import { ipmiBeacon } from './beacon.ts';
import type { Bmc, IpmiTimes } from './bmc.ts';
import { ipmiEnergy } from './energy.ts';
import type { CappingRange } from './energy-values.ts';
import { type Identity, readIdentity } from './identity.ts';
import { ipmiEventLog } from './event-log.ts';
import { ipmiInventory } from './inventory.ts';
import { ipmiNextBoot } from './next-boot.ts';
import { ipmiPower } from './power.ts';
import { getSetting } from './sp-get.ts';
import { setSettings } from './sp-set.ts';
import { ipmiSubnodes } from './subnodes.ts';
import { validateAccess } from './validate.ts';
import { ipmiVitals } from './vitals.ts';

/** Whatever opens sessions: one link for each endpoint. */
export interface IpmiConnections {
  link(endpoint: IpmiEndpoint): IpmiLink;
  close(): Promise<void>;
}

export interface IpmiDriverOptions extends Partial<IpmiTimes> {
  readonly ipmiSuites?: readonly (17 | 3)[];
  /** By default every address is fine. */
  readonly guard?: AddressGuard;
  /** By default sessions of its own. */
  readonly connections?: IpmiConnections;
  /** The power limits a node can keep, if they are known; DCMI does not tell. */
  readonly cappingRange?: (access: BmcAccess) => CappingRange | undefined;
  /** Who answers at another address; by default asked of whoever lets us in there. */
  readonly identityAt?: (address: string, signal: AbortSignal) => Promise<Identity>;
}

const defaultTimes: IpmiTimes = { powerDeadline: 60_000, addressDeadline: 60_000, cycleSettling: 1_500 };

/** Made for every node of a request, of which one is used: so each is made when it is asked for. */
class IpmiCapabilities implements Capabilities {
  readonly #bmc: Bmc;

  constructor(bmc: Bmc) {
    this.#bmc = bmc;
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

  get energy() {
    return ipmiEnergy(this.#bmc);
  }

  get subnodes() {
    return ipmiSubnodes;
  }

  get serviceProcessor(): ServiceProcessor {
    const bmc = this.#bmc;
    const processor: ServiceProcessor = {
      get: (attribute, signal) => getSetting(bmc, attribute, signal),
      set: (settings, signal) => setSettings(bmc, settings, signal),
    };
    return guarded(processor, bmc.guard);
  }
}

/** Text, or hexadecimal after 0x, as service processors' own tools take it. */
const keyBytes = (key: string): Buffer =>
  /^0x([0-9a-f]{2})+$/i.test(key) ? Buffer.from(key.slice(2), 'hex') : Buffer.from(key);

export function ipmiDriver(options: IpmiDriverOptions): Driver<BmcAccess> {
  const { connections = new IpmiClient(), cappingRange, guard = new AddressGuard(undefined) } = options;
  const sdr = sdrCache();
  const times: IpmiTimes = {
    powerDeadline: options.powerDeadline ?? defaultTimes.powerDeadline,
    addressDeadline: options.addressDeadline ?? defaultTimes.addressDeadline,
    cycleSettling: options.cycleSettling ?? defaultTimes.cycleSettling,
  };

  const endpointOf = ({ address, port, username, password, key }: BmcAccess): IpmiEndpoint => ({
    address,
    port,
    username,
    password,
    kg: key === undefined ? undefined : keyBytes(key),
    suites: options.ipmiSuites,
  });

  const kind: BmcKind = {
    name: 'ipmi',
    guard,
    problems: validateAccess,
    extras: ({ attributes, account }) => ({ key: account('ipmikg', attributes['bmcusername'])?.password }),
  };
  return {
    name: 'ipmi',
    attributes: bmcAttributes,
    target: (node) => bmcTarget(node, kind),
    connect(access) {
      const link = connections.link(endpointOf(access));
      return new IpmiCapabilities({
        access,
        guard,
        link,
        times,
        cappingRange: cappingRange?.(access),
        records: (signal) => sdr.records(`${access.address}:${access.port ?? ''}`, link, signal),
        identityAt:
          options.identityAt ??
          ((address, signal) => readIdentity(connections.link({ ...endpointOf(access), address }), signal)),
      });
    },
    close: () => connections.close(),
  };
}
