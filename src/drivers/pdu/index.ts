import { isIP } from 'node:net';
import { readFileSync } from 'node:fs';
import { AddressGuard } from '../../core/address-guard.ts';
import { cachedBy } from '../../core/cache.ts';
import { Fault } from '../../core/errors.ts';
import { checkHostAddress, formatListen, noProcessorPort, processorPort } from '../../core/host-address.ts';
import { Count, Path, setting } from '../../core/settings.ts';
import { RedfishClient } from '../../protocols/redfish/client.ts';
import { snmpAccess } from '../../protocols/snmp/access.ts';
import type { SnmpAccess } from '../../protocols/snmp/session.ts';
import type { Capabilities, Offered } from '../capabilities.ts';
import { type Driver, type DriverNode, type DriverOptions, type DriverTarget, driverKind } from '../driver.ts';
import { kindsNamed, knownTypes, type PduKind, pduKinds, redfishType } from './kinds.ts';
import { ownKinds } from './own-kinds.ts';
import { type Pdu, pduOutlets } from './outlets.ts';
import { pduInventory, pduVitals } from './readings.ts';
import { redfishPdu } from './redfish.ts';
import { snmpPdu } from './snmp.ts';

/** How to reach a PDU: plain data. */
export interface PduAccess {
  readonly node: string;
  readonly address: string;
  readonly port?: number | undefined;
  readonly type?: string | undefined;
  readonly count?: number | undefined;
  readonly way:
    | { readonly by: 'snmp'; readonly access: SnmpAccess }
    | {
        readonly by: 'redfish';
        readonly username: string;
        readonly password: string;
        readonly certificate?: string | undefined;
      };
}

const attributes = [
  'ip',
  'bmcport',
  'pdutype',
  'outlet',
  'username',
  'password',
  'snmpversion',
  'community',
  'snmpuser',
  'authtype',
  'authkey',
  'privtype',
  'privkey',
  'seclevel',
] as const;
const columns = {
  version: 'snmpversion',
  community: 'community',
  user: 'snmpuser',
  level: 'seclevel',
  authProtocol: 'authtype',
  authPassword: 'authkey',
  privProtocol: 'privtype',
  privPassword: 'privkey',
} as const;

const offers = ['outlets', 'vitals', 'inventory'] as const satisfies readonly (keyof Capabilities)[];
const snmpPort = 161;

interface PduDriverOptions extends DriverOptions {
  /** Milliseconds for each of a few tries by SNMP. */
  readonly snmpTimeout: number;
  /** Milliseconds that a reset leaves outlets off. */
  readonly resetPause: number;
  readonly kinds: readonly PduKind[];
}

/** Power distribution units, `mgt=pdu`: by SNMP, or by Redfish where pdutype says so. */
export function pduDriver(options: PduDriverOptions): Driver<PduAccess> {
  const { trust, guard = new AddressGuard(undefined), snmpTimeout, kinds } = options;
  const client = new RedfishClient({ trust });
  const pduOf = ({ node, address, port, type, count, way }: PduAccess): Pdu => {
    if (way.by === 'redfish') {
      const { username, password } = way;
      return redfishPdu(client.service({ key: node, address, port, username, password, transport: 'tls' }));
    }
    const agent = { address, port: port ?? snmpPort, access: way.access, timeout: snmpTimeout };
    return snmpPdu({ agent, type, kinds, count });
  };
  const connect = cachedBy((access: PduAccess): Offered<typeof offers> => {
    const pdu = pduOf(access);
    const outlets = pduOutlets(pdu, options);
    return { outlets, vitals: pduVitals(pdu, outlets), inventory: pduInventory(pdu) };
  });
  return {
    name: 'pdu',
    offers,
    attributes,
    target: (node) => pduTarget(node, kinds, guard, trust.known(node.name)),
    connect,
    sessions: () => client.size.connections,
    close: () => client.close(),
  };
}

function pduTarget(
  node: DriverNode,
  kinds: readonly PduKind[],
  guard: AddressGuard,
  certificate: string | undefined,
): DriverTarget<PduAccess> | Promise<DriverTarget<PduAccess>> {
  const { ip, bmcport = '', pdutype, outlet } = node.attributes;
  // A list of addresses may stand there; the name of the node is one that a resolver may know.
  const [address = ''] = (ip || node.name).split(',', 1);
  const port = processorPort(bmcport);
  const problems: string[] = [];
  if (port === false) problems.push(`its attribute bmcport, "${bmcport}", ${noProcessorPort}.`);
  const mistyped = checkHostAddress(address);
  if (mistyped) problems.push(`its attribute ip is wrong: ${mistyped.message}`);
  const count = outlet === undefined ? undefined : Number(outlet);
  if (count !== undefined && !(Number.isSafeInteger(count) && count > 0))
    problems.push(`its attribute outlet, "${outlet}", is no number of outlets.`);
  const isRedfish = pdutype === redfishType;
  if (pdutype !== undefined && !isRedfish && kindsNamed(pdutype, kinds).length === 0)
    problems.push(
      `its attribute pdutype, "${pdutype}", is none of ${[...new Set([...knownTypes, ...kinds.map(({ name }) => name)])].join(', ')}.`,
    );
  if (problems.length > 0) throw new Fault('invalid', problems);
  const way = isRedfish ? redfishWay(node, certificate) : { by: 'snmp' as const, access: accessOf(node) };
  const access: PduAccess = { node: node.name, address, port: port || undefined, type: pdutype, count, way };
  const target = (admitted: string): DriverTarget<PduAccess> => ({
    device: `pdu ${admitted}:${port || ''}`,
    address: port ? formatListen({ host: admitted, port }) : admitted,
    width: 1,
    joinsReadings: true,
    access: admitted === address ? access : { ...access, address: admitted },
  });
  if (isIP(address) === 0) return guard.admit(address).then(target);
  guard.check(address);
  return target(address);
}

function accessOf({ attributes: found }: DriverNode): SnmpAccess {
  const given = Object.fromEntries(Object.entries(columns).map(([what, column]) => [what, found[column]]));
  // As the reference system has it.
  return snmpAccess(given, columns, '1');
}

function redfishWay(
  { attributes: { username, password } }: DriverNode,
  certificate: string | undefined,
): PduAccess['way'] {
  if (username && password) return { by: 'redfish', username, password, certificate };
  throw new Fault('invalid', 'it has no user name or no password: set username and password, for its Redfish service.');
}

export const pdu = driverKind({
  settings: {
    snmpTimeout: setting(
      Count,
      'seconds to wait for an answer of a PDU over SNMP; muster asks three times before its command fails',
      {
        default: 2,
        variable: 'MUSTER_SNMP_TIMEOUT',
      },
    ),
    pduResetPause: setting(Count, 'seconds that `pdureset` leaves outlets off', {
      default: 10,
      variable: 'MUSTER_PDU_RESET_PAUSE',
    }),
    pduKinds: setting(Path, 'JSON file that describes further kinds of PDUs by their SNMP objects', {
      defaultText: 'none: muster knows those of docs/pdu.md',
    }),
  },
  open: ({ snmpTimeout = 2, pduResetPause = 10, pduKinds: file }, options) => {
    const own = file === undefined ? [] : ownKinds(readFileSync(file, 'utf8'), file);
    const times = { snmpTimeout: snmpTimeout * 1_000, resetPause: pduResetPause * 1_000 };
    return pduDriver({ ...options, ...times, kinds: [...own, ...pduKinds] });
  },
});
