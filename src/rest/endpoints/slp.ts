import { lsslp } from '../../commands/lsslp.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';

const description =
  'Asks by SLP and, for Redfish services, by SSDP, on the interfaces of the setting discovery.interfaces, and answers when nobody new replies, at the latest after discovery.seconds. Nothing is defined by it. The types: CEC, FRAME, MM, IVM, RSA, HMC, CMM, IMM2, FSP, BPA, XCC, SMM, REDFISH.';

export const slp: Endpoint[] = [
  endpoint({
    method: 'GET',
    path: '/services/slpnodes',
    command: lsslp,
    reply: 'attributes',
    args: () => ({ type: undefined }),
    summary: 'Devices that announce themselves on the networks.',
    description,
    example: {
      path: '/services/slpnodes',
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
  endpoint({
    method: 'GET',
    path: '/services/slpnodes/{type}',
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
