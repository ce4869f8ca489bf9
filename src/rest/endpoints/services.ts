import { bmcdiscover, lsslp } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { endpoint, type Endpoint, type Input } from '../endpoint.ts';

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

const discovery = ({ params }: Input) => {
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
    args: discovery,
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
    args: discovery,
    secretsInPath: true,
    summary: 'The same with one slash in it, as that of the range 10.1.0.0/24.',
    description: 'Further slashes, such as those of more such ranges or of a password, are written as %2F.',
    example: {
      path: '/services/bmcdiscover/iprange=127.10.0.0/28,bmcuser=admin,bmcpw=PASSWORD',
      reply: ['127.10.0.1,7X00LAB,SN000000,admin,,mp,bmc,02:bc:00:00:00:00'],
    },
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
