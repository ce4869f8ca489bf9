import { isIP } from 'node:net';
import type { AddressGuard } from '../../core/address-guard.ts';
import { Fault } from '../../core/errors.ts';
import { checkHostAddress, formatListen, noProcessorPort, processorPort } from '../../core/host-address.ts';
import type { ServiceProcessor } from '../capabilities.ts';
import type { DriverNode, DriverTarget } from '../driver.ts';

export interface BmcAccess {
  readonly node: string;
  readonly address: string;
  /** Undefined: the protocol's own port. */
  readonly port?: number | undefined;
  readonly username: string;
  readonly password: string;
  /** The key of the BMC itself (IPMI's K_g), where one is set: text, or hexadecimal after 0x. */
  readonly key?: string | undefined;
  /** Which of several computer systems behind one BMC it is. */
  readonly system?: string | undefined;
  /** What a Redfish service may speak; undefined: TLS that is up to date. */
  readonly transport?: string | undefined;
  /** The fingerprint that its certificate must have, if one is known: for a process that has no database. */
  readonly certificate?: string | undefined;
  /** The one that muster has given it, which it may show from now on. */
  readonly nextCertificate?: string | undefined;
  /** The same for the key of its SSH server. */
  readonly hostKey?: string | undefined;
}

/** The attributes that say how to reach a BMC. */
export const bmcAttributes = ['bmc', 'bmcport', 'bmcusername', 'bmcpassword'] as const;

/** A driver of BMCs: its name is also the key of its accounts in table passwd. */
export interface BmcKind {
  readonly name: string;
  /** Accounts go to no other addresses. */
  readonly guard: AddressGuard;
  /** What is wrong with the access, one sentence each; secrets are not repeated. */
  problems(access: BmcAccess): readonly string[];
  /** `username`: of the account that is used. */
  extras(
    node: DriverNode,
    username: string,
  ): Pick<BmcAccess, 'key' | 'certificate' | 'nextCertificate' | 'hostKey' | 'system' | 'transport'>;
}

/** From the node's own attributes, else the account of the kind in table passwd. A BMC does one thing at a time. */
export function bmcTarget(node: DriverNode, kind: BmcKind): DriverTarget<BmcAccess> | Promise<DriverTarget<BmcAccess>> {
  const { bmc = '', bmcport = '', bmcusername, bmcpassword } = node.attributes;
  const port = processorPort(bmcport);
  if (port === false) throw new Fault('invalid', `its attribute bmcport, "${bmcport}", ${noProcessorPort}.`);
  const complete = bmcusername !== undefined && bmcpassword !== undefined;
  const account = complete ? undefined : node.account(kind.name, bmcusername);
  const [address = ''] = bmc.split(',', 1);
  if (address === '') throw new Fault('invalid', 'its attribute bmc, the address of its BMC, is not set.');
  const username = bmcusername ?? account?.username ?? '';
  const access: BmcAccess = {
    node: node.name,
    address,
    port,
    username,
    password: bmcpassword ?? account?.password ?? '',
    ...kind.extras(node, username),
  };
  const problems = kind.problems(access);
  if (problems.length > 0) throw new Fault('invalid', problems);
  const at = (admitted: string): DriverTarget<BmcAccess> => ({
    // By the driver too: what does not answer to one protocol may answer to another.
    device: `${kind.name} ${admitted}:${port ?? ''}`,
    address: port === undefined ? admitted : formatListen({ host: admitted, port }),
    account: username,
    width: 1,
    access: admitted === address ? access : { ...access, address: admitted },
  });
  if (isIP(address) === 0) return kind.guard.admit(address).then(at);
  kind.guard.check(address);
  return at(address);
}

/** What is wrong with address and account, whatever the protocol. `form`: what an address looks like. */
export function accessProblems({ address, username, password }: BmcAccess, key: string, form = /^/): string[] {
  const problems: string[] = [];
  const mistyped = checkHostAddress(address);
  if (mistyped) problems.push(`its attribute bmc is wrong: ${mistyped.message}`);
  else if (!form.test(address)) problems.push(`its attribute bmc, "${address}", is not an address or host name.`);
  const missing = [username === '' ? 'user name' : '', password === '' ? 'password' : ''].filter(Boolean);
  if (missing.length > 0)
    problems.push(
      `it has no ${missing.join(' and no ')} for its BMC: set bmcusername and bmcpassword, or a row of the table passwd with the key ${key}.`,
    );
  return problems;
}

/** The account is shown at an address that a BMC is moved to, to see whether it is there: only where it may be. */
export const guarded = (processor: ServiceProcessor, guard: AddressGuard): ServiceProcessor => ({
  get: (attribute, signal) => processor.get(attribute, signal),
  async set(settings, signal) {
    const { ip = '' } = settings;
    if (isIP(ip) !== 0) guard.check(ip);
    return processor.set(settings, signal);
  },
});
