import { checkHostAddress } from '../../core/host-address.ts';
import type { RedfishClient, RedfishOptions, RedfishService } from '../../protocols/redfish/client.ts';
import { missingAccount } from '../account.ts';
import type { Access, Capabilities, Driver } from '../capabilities.ts';
import type { DriverOptions } from '../options.ts';
import type { Target } from './target.ts';

export interface RedfishDriverOptions extends DriverOptions, Partial<Omit<RedfishOptions, 'trust'>> {
  /** How long a service processor may take to come up at a new address, in milliseconds. */
  readonly addressDeadline?: number;
}

export interface RedfishKind {
  readonly name: string;
  readonly passwdKey: string;
  readonly client: RedfishClient;
  readonly powerDeadline: number;
  readonly addressDeadline?: number | undefined;
  capabilities(target: Target): Capabilities;
}

const defaultAddressDeadline = 60_000;

/** A driver for services that speak Redfish; kinds differ in what they call things. */
export function makeRedfishDriver(kind: RedfishKind): Driver {
  const { name, passwdKey, client, powerDeadline, addressDeadline = defaultAddressDeadline, capabilities } = kind;
  const limits = new Map<string, number>();
  const connected = new WeakMap<RedfishService, Capabilities>();
  return {
    name,
    attributes: ['bmc', 'bmcport', 'bmcusername', 'bmcpassword'],
    passwdKey,
    validate: (access) => problemsOf(access, passwdKey),
    connect(access) {
      const { node, address, port, username, password } = access;
      const service = client.service({ key: node, address, port, username, password });
      let made = connected.get(service);
      if (!made)
        connected.set(
          service,
          (made = begun(
            capabilities({ access, client, service, powerDeadline, addressDeadline, limits }),
            service,
            Math.max(powerDeadline, addressDeadline),
          )),
        );
      return made;
    },
    close: () => client.close(),
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

const address = /^[a-z0-9.:_-]{1,253}$/i;

function problemsOf(access: Access, passwdKey: string): readonly string[] {
  const problems: string[] = [];
  const mistyped = checkHostAddress(access.address);
  if (mistyped) problems.push(`its attribute bmc is wrong: ${mistyped.message}`);
  else if (!address.test(access.address))
    problems.push(`its attribute bmc, "${access.address}", is not an address or host name.`);
  const missing = missingAccount(access, passwdKey);
  if (missing) problems.push(missing);
  return problems;
}
