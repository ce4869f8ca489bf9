import { AddressGuard } from '../../core/address-guard.ts';
import { Fault } from '../../core/errors.ts';
import { IpmiClient } from '../../protocols/ipmi/client.ts';
import { RedfishClient, type RedfishOptions, type RedfishService } from '../../protocols/redfish/client.ts';
import { isTransport, transports } from '../../protocols/redfish/trust.ts';
import { accessProblems, type BmcAccess, bmcAttributes, type BmcKind, bmcTarget, guarded } from '../bmc/target.ts';
import type { Capabilities, Offered } from '../capabilities.ts';
import type { Driver, DriverOptions } from '../driver.ts';
import { hostKeysInMemory } from '../bmc/certificate-trust.ts';
import { BiosRegistries } from './bios-registries.ts';
import type { ConsoleWays, Target } from './target.ts';

export interface RedfishDriverOptions extends DriverOptions, Partial<Omit<RedfishOptions, 'trust'>> {
  /** How long a BMC may take to come up at a new address, in milliseconds. */
  readonly addressTimeout?: number;
  /** By default connections of its own. */
  readonly client?: RedfishClient;
}

const offers = [
  'power',
  'vitals',
  'inventory',
  'eventLog',
  'hardwareEvents',
  'nextBoot',
  'bootSequence',
  'beacon',
  'energy',
  'serviceProcessor',
  'subnodes',
  'accounts',
  'certificates',
  'bios',
  'console',
  'posture',
  'firmware',
  'media',
] as const satisfies readonly (keyof Capabilities)[];
export type RedfishCapabilities = Offered<typeof offers>;

/** A kind of Redfish service: kinds differ in what they call things. */
export interface RedfishKind {
  readonly name: string;
  capabilities(target: Target): RedfishCapabilities;
}

const defaultAddressTimeout = 60_000;
const defaultUpdateTimeout = 3_600_000;
const defaultSettleTime = 300_000;
const defaultCertificateTimeout = 120_000;

export function makeRedfishDriver(
  { name, capabilities }: RedfishKind,
  options: RedfishDriverOptions,
): Driver<BmcAccess> {
  const { trust, guard = new AddressGuard(undefined), hostKeys = hostKeysInMemory(), powerTimeout } = options;
  const { updateTimeout = defaultUpdateTimeout, settleTime = defaultSettleTime } = options;
  const { certificateTimeout = defaultCertificateTimeout } = options;
  const { client = new RedfishClient(options), addressTimeout = defaultAddressTimeout } = options;
  const kind: BmcKind = {
    name,
    guard,
    problems: (access) => redfishProblems(access, name),
    extras: ({ name: node, attributes: { bmcsystem, bmctransport } }) => ({
      certificate: trust.known(node),
      nextCertificate: trust.next?.(node),
      hostKey: hostKeys.known(node)[0],
      system: bmcsystem,
      transport: bmctransport,
    }),
  };
  const serials = new IpmiClient();
  const consoles: ConsoleWays = {
    hostKeys,
    openSerial: (endpoint, serial, signal) => serials.openSerial(endpoint, serial, signal),
  };
  const limits = new Map<string, number>();
  const registries = new BiosRegistries();
  const connected = new WeakMap<RedfishService, { readonly made: Capabilities; readonly system: string | undefined }>();
  return {
    name,
    offers,
    attributes: [...bmcAttributes, 'bmcsystem', 'bmctransport'],
    target: (node) => bmcTarget(node, kind),
    connect(access) {
      const { node, address, port, username, password, system, transport = 'tls' } = access;
      if (!isTransport(transport)) throw new Fault('invalid', wrongTransport(transport));
      const service = client.service({ key: node, address, port, username, password, transport });
      const before = connected.get(service);
      if (before && before.system === system) return before.made;
      const shared = { client, service, trust, consoles, limits, registries };
      const times = { powerTimeout, addressTimeout, updateTimeout, settleTime, certificateTimeout };
      const all = capabilities({ ...shared, ...times, access });
      const safe = { ...all, serviceProcessor: guarded(all.serviceProcessor, guard) };
      const made = begun(safe, service, Math.max(powerTimeout, addressTimeout, certificateTimeout));
      connected.set(service, { made, system });
      return made;
    },
    sessions: () => client.size.connections,
    async close() {
      await Promise.all([client.close(), serials.close()]);
    },
  };
}

/** The same, and whatever is called is a new command for the service, which may have to wait so long for hardware. */
function begun<T extends object>(part: T, service: RedfishService, waiting: number): T {
  const entries = Object.entries(part).map(([name, member]: [string, unknown]) => {
    if (typeof member === 'object' && member !== null) return [name, begun(member, service, waiting)];
    if (typeof member !== 'function') return [name, member];
    const call = (...args: unknown[]): unknown => {
      service.begin(waiting);
      return Reflect.apply(member, part, args);
    };
    return [name, call];
  });
  return Object.fromEntries(entries) as T;
}

const wrongTransport = (transport: string): string =>
  `its attribute bmctransport, "${transport}", is none of ${transports.join(', ')}.`;

export function redfishProblems(access: BmcAccess, key: string): readonly string[] {
  const problems = accessProblems(access, key, /^[a-z0-9.:_-]{1,253}$/i);
  const { transport = 'tls' } = access;
  return isTransport(transport) ? problems : [...problems, wrongTransport(transport)];
}
