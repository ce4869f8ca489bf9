import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { expandAddresses } from '../core/ip.ts';
import type { Found } from '../drivers/index.ts';
import { localAdapters } from '../names/index.ts';
import { KnownNodes } from '../nodes/index.ts';
import { hidden, withoutSecrets } from '../objects/secret-names.ts';
import { everyNode, noArguments, query } from './command.ts';

/** Devices that announce themselves on the networks, as definitions that could be made of them. */
export const lsslp = query({
  name: 'lsslp',
  args: Type.Object({ type: Type.Optional(Type.String()) }),
  uses: ['announcements'],
  line: ({ type }) => (type === undefined ? ['-z'] : ['-z', '-s', type]),
  select: () => everyNode,
  async run(snapshot, { type }, { announcements }) {
    const found = await announcements.find(type, new KnownNodes(snapshot));
    return { shape: 'objects', names: [...found.keys()], attributes: (name) => found.get(name)! };
  },
});

/** Whoever reads the line splits it at its commas, and what a BMC says of itself may hold anything. */
const field = (value: string): string =>
  value
    .replaceAll(/\p{Cc}+/gu, ' ')
    .replaceAll(',', ';')
    .trim();

/** The reference system's line: address, model, serial number, user, password (never shown), kind of node, hardware, MAC; then a note, if any. */
export function discoveryLine({ address, kind, model, serial, mac, note }: Found, user: string): string {
  const fields = [address, model, serial, user, '', 'mp', kind === 'ipmi' ? 'bmc' : 'redfish', mac];
  return [...fields, ...(note === '' ? [] : [note])].map(field).join(',');
}

export const bmcdiscover = query({
  name: 'bmcdiscover',
  args: Type.Object({
    addresses: Type.String(),
    method: Type.Optional(
      Type.String({ description: 'only this kind; nmap, as the reference system says, means both' }),
    ),
    username: Type.Optional(Type.String()),
    password: Type.Optional(Type.String()),
    check: Type.Optional(Type.Boolean({ description: 'only says whether the account is accepted' })),
  }),
  uses: ['discovery'],
  line({ addresses, method, username = '', check }) {
    const account = ['-i', addresses, '-u', username, '-p', hidden, '-c'];
    return (check ? account : [...(method ? ['-s', method] : []), '--range', addresses]).map(withoutSecrets);
  },
  async run(_snapshot, { addresses: range, method, username = '', password = '', check }, { discovery, signal }) {
    const account = password === '' ? undefined : { username, password };
    if (check) {
      if (!account) throw new Fault('missing-member', 'Give the account to check: bmcuser=NAME,bmcpw=PASSWORD.');
      const [address, ...more] = expandAddresses(range);
      if (more.length > 0) throw new Fault('invalid', 'An account is checked at one address at a time; give only one.');
      await discovery.logIn(address!, account, signal());
      return { shape: 'list', items: [`${address}: the account is accepted.`] };
    }
    const found = await discovery.search(expandAddresses(range), kindsOf(method), account, signal());
    return { shape: 'list', items: found.map((one) => discoveryLine(one, username)) };
  },
});

function kindsOf(method: string | undefined): readonly Found['kind'][] {
  if (method === undefined || method === 'nmap') return ['redfish', 'ipmi'];
  if (method === 'ipmi' || method === 'redfish') return [method];
  throw new Fault('invalid', `"${method}" is not a method; known are ipmi, redfish, nmap (both).`);
}

/** Switches in a range of addresses, by SNMP, or those that these hear by LLDP. */
export const switchdiscover = query({
  name: 'switchdiscover',
  args: Type.Object({ addresses: Type.String(), method: Type.Optional(Type.Enum(['snmp', 'lldp'])) }),
  uses: ['machines'],
  line: ({ addresses, method = 'snmp' }) => ['-s', method, '--range', addresses],
  async run(_snapshot, { addresses, method = 'snmp' }, { machines, signal }) {
    const switches = await machines.searchSwitches({ addresses: expandAddresses(addresses), method }, signal());
    return { shape: 'value', value: { switches } };
  },
});

/** What the management node has itself. */
export const localrest = query({
  name: 'localrest',
  args: noArguments,
  line: () => ['list', 'adapters'],
  run: () => ({ shape: 'value', value: localAdapters() }),
});
