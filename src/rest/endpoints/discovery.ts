import { Type } from 'typebox';
import {
  bmcdiscover,
  switchdiscover,
  lsslp,
  nodediscoverls,
  nodediscoverstart,
  nodediscoverstop,
} from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { type Endpoint, endpoint, type Input, members, requiredText } from './endpoint.ts';

export const discovery: Endpoint[] = [
  endpoint('GET /discovery', {
    command: nodediscoverls,
    reply: 'object',
    summary: 'Machines that have booted and identified themselves but are no node, and the ranges that are open.',
    description:
      'Each machine has the reason why it is no node, when it was first and last heard of, and what it said of itself. A machine is the node that is defined with one of its MAC addresses, its UUID (uuid), its serial number (serial, and mtm if that is set), the address of its BMC (bmc) or its switch port (switch, switchport), if no other node is defined with another of these and the node has no other machine. A machine that matches no node becomes the next node of an open range that has none of these. The match is journalled with the user muster and the command discovery, and kept in table discoverydata; MAC address, UUID, model and serial number become those of the node, and so does the BMC if it is in hardware.networks; what is defined stays. The node then boots what its attribute chain says, else ondiscover, else the state that was set before, else its image.',
    example: {
      reply: {
        ranges: [
          { noderange: 'n[1-100]', by: 'order', opened: '2026-05-04T12:00:00.000Z', openedBy: 'root', free: 98 },
        ],
        unmatched: [
          {
            reason: 'No node is defined like it, and no range is open.',
            address: '10.1.200.7',
            first: '2026-05-04T12:00:00.000Z',
            last: '2026-05-04T12:01:30.000Z',
            times: 4,
            mac: '52:54:00:12:34:56',
            macs: ['52:54:00:12:34:56'],
            uuid: '4c4c4544-0031-3510-8054-b3c04f564433',
            serial: 'SN17',
            manufacturer: 'Example',
            model: 'E-1',
            arch: 'x86_64',
            cpus: 64,
            memoryMiB: 262_144,
            disks: ['sda, 480103981056 bytes'],
            bmc: '10.3.0.7',
            neighbours: [{ interface: 'eno1', chassis: 'sw1', port: 'Ethernet7' }],
          },
        ],
      },
    },
  }),
  endpoint('POST /discovery', {
    command: nodediscoverstart,
    body: members({
      noderange: Type.String({ minLength: 1, description: 'nodes that exist' }),
      by: Type.Optional(Type.Enum(['order'], { description: 'how machines get their nodes' })),
    }),
    args: ({ body }) => ({ noderange: (body as { noderange: string }).noderange }),
    summary: 'Let unknown machines become the nodes of a range, in the order of their names.',
    description:
      'Only nodes that have neither mac nor uuid, serial or switch port are used. Any machine that can reach the boot network can take part: close the range when all are there. It stays open across restarts.',
    example: { body: { noderange: 'compute', by: 'order' } },
  }),
  endpoint('DELETE /discovery', {
    command: nodediscoverstop,
    body: members({ noderange: Type.Optional(Type.String({ description: 'absent: all that are open' })) }),
    args: ({ body }) => ({ noderange: (body as { noderange?: string }).noderange }),
    summary: 'Close a range that was opened for discovery, or all of them.',
    description: 'The range is named as it was when it was opened.',
    example: { body: { noderange: 'compute' } },
  }),
];

/** `name=value` pairs of a path segment, separated by commas. A password may hold commas: it goes on up to the next name. */
function settingsOf(text: string, known: readonly string[]): Record<string, string> {
  const settings: Record<string, string> = {};
  let last = '';
  for (const piece of text.split(',')) {
    const mark = piece.indexOf('=');
    const name = piece.slice(0, Math.max(mark, 0)).trim();
    if (known.includes(name)) {
      settings[name] = piece.slice(mark + 1);
      last = name;
    } else if (last === 'bmcpw') settings[last] += `,${piece}`;
    // The piece itself may be a password, so it is not repeated.
    else throw new Fault('invalid', `The path takes ${known.join('=..., ')}=..., separated by commas.`);
  }
  return settings;
}

const bmcSearch = ({ params }: Input) => {
  const { search = '', rest } = params;
  const text = rest === undefined ? search : `${search}/${rest}`;
  const { iprange, method, bmcuser, bmcpw } = settingsOf(text, ['iprange', 'method', 'bmcuser', 'bmcpw']);
  if (!iprange) throw new Fault('missing-member', 'Give the addresses to search: iprange=10.1.0.1-10.1.0.20.');
  return { addresses: iprange.replaceAll(';', ','), method, username: bmcuser, password: bmcpw };
};

const check = ({ params }: Input) => {
  const { bmcuser, bmcpw } = settingsOf(params['account']!, ['bmcuser', 'bmcpw']);
  return {
    addresses: params['address']!,
    method: undefined,
    username: bmcuser === 'none' ? '' : bmcuser,
    password: bmcpw,
    check: true,
  };
};

export const services: Endpoint[] = [
  endpoint('GET /services/bmcdiscover/{search}', {
    command: bmcdiscover,
    reply: 'list',
    args: bmcSearch,
    secretsInPath: true,
    summary: 'BMCs in an address range, by IPMI presence ping and Redfish.',
    description:
      'With bmcuser and bmcpw each is asked for its model, serial number and MAC address; no other password is tried. Several ranges are separated by ";". Each line is: address, model, serial number, user, nothing, kind of node, kind of hardware, MAC address and, if it would not say more, why; a comma within one of these is shown as ";".',
    example: {
      path: '/services/bmcdiscover/iprange=127.10.0.1-127.10.0.20,bmcuser=admin,bmcpw=PASSWORD',
      reply: ['127.10.0.1,7X00LAB,SN000000,admin,,mp,bmc,02:bc:00:00:00:00'],
    },
  }),
  endpoint('GET /services/bmcdiscover/{search}/{rest}', {
    command: bmcdiscover,
    reply: 'list',
    args: bmcSearch,
    secretsInPath: true,
    summary: 'The same with one slash in it, as that of the range 10.1.0.0/24.',
    description: 'Further slashes, such as those of more such ranges or of a password, are written as %2F.',
    example: {
      path: '/services/bmcdiscover/iprange=127.10.0.0/28,bmcuser=admin,bmcpw=PASSWORD',
      reply: ['127.10.0.1,7X00LAB,SN000000,admin,,mp,bmc,02:bc:00:00:00:00'],
    },
  }),
  endpoint('POST /services/switchdiscover', {
    command: switchdiscover,
    reply: 'object',
    body: members({
      addresses: requiredText('missing-member', 'addresses and ranges such as 10.1.0.0/24, separated by commas'),
      method: Type.Optional(
        Type.Enum(['snmp', 'lldp'], {
          description: 'snmp (the default): the switches at the addresses; lldp: the switches that these hear by LLDP',
        }),
      ),
    }),
    args: ({ body: { addresses, method } }) => ({
      addresses: addresses as string,
      ...(method === undefined ? {} : { method: method as 'snmp' | 'lldp' }),
    }),
    returns: Type.Object({
      switches: Type.Array(
        Type.Object({
          address: Type.String({ description: 'empty if a neighbour announces none' }),
          name: Type.String({ description: 'what it calls itself' }),
          mac: Type.String(),
          ports: Type.Optional(Type.Integer({ description: 'only of switches that muster asked' })),
          description: Type.String(),
          heardby: Type.Optional(Type.String({ description: 'by LLDP: the switch that hears it, and its port' })),
        }),
      ),
    }),
    summary: 'Switches in an address range, by SNMP (version 2c).',
    description:
      'A switch is a device that has a bridge with ports. muster asks with the community in the site attribute snmpc, or public. With the method lldp, muster asks the switches which neighbours they hear (LLDP-MIB), and lists those that are bridges. Nothing is stored.',
    example: {
      body: { addresses: '127.10.0.1-127.10.0.2' },
      reply: {
        switches: [{ address: '10.1.0.2', name: 'tor1', mac: '02:bc:00:00:00:00', ports: 48, description: 'a switch' }],
      },
    },
    only: '/muster',
  }),
  endpoint('GET /services/checkbmcauth/{address}/{account}', {
    command: bmcdiscover,
    reply: 'list',
    args: check,
    secretsInPath: true,
    summary: 'Whether the BMC at an address accepts an account.',
    example: {
      path: '/services/checkbmcauth/127.10.0.1/bmcuser=admin,bmcpw=PASSWORD',
      reply: ['127.10.0.1: the account is accepted.'],
    },
  }),
];

const description =
  'Asks by SLP and, for Redfish services, by SSDP, on the interfaces of the setting discovery.interfaces, and answers when nobody new replies, at the latest after discovery.seconds. Nothing is defined by it. The types: CEC, FRAME, MM, IVM, RSA, HMC, CMM, IMM2, FSP, BPA, XCC, SMM, REDFISH.';

export const slp: Endpoint[] = [
  endpoint('GET /services/slpnodes', {
    command: lsslp,
    reply: 'attributes',
    args: () => ({ type: undefined }),
    summary: 'Devices that announce themselves on the networks.',
    description,
    example: {
      reply: {
        'Server-8205-E6B-SN1074CDP': {
          objtype: 'node',
          hcp: 'Server-8205-E6B-SN1074CDP',
          nodetype: 'ppc',
          mtm: '8205-E6B',
          serial: '1074CDP',
          groups: 'cec,all',
          mgt: 'fsp',
          id: '4',
          hidden: '0',
          hwtype: 'cec',
        },
      },
    },
  }),
  endpoint('GET /services/slpnodes/{type}', {
    command: lsslp,
    reply: 'attributes',
    args: ({ params }) => ({ type: params['type'] }),
    summary: 'Devices of one type that announce themselves on the networks.',
    description,
    example: {
      path: '/services/slpnodes/CMM',
      reply: {
        cmm01: {
          objtype: 'node',
          mpa: 'cmm01',
          nodetype: 'mp',
          mtm: '98939AX',
          serial: '102537A',
          side: '1',
          groups: 'cmm,all',
          mgt: 'blade',
          mac: '40:f2:e9:a0:00:01',
          hidden: '0',
          otherinterfaces: '10.1.0.30',
          hwtype: 'cmm',
        },
      },
    },
  }),
];
