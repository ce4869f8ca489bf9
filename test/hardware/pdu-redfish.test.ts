import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { labAccounts } from '../lab/addresses.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { define } from './nodes.ts';
import { readStream } from './stream.ts';

let server: TestServer;
let lab: RedfishLab;
beforeAll(async () => {
  [server, lab] = await Promise.all([
    startServer({ environment: { MUSTER_PDU_RESET_PAUSE: '1', MUSTER_POWER_TIMEOUT: '4' } }),
    startRedfish({ count: 2, prefix: '127.98', kinds: ['pdu', 'plain'] }),
  ]);
  const { username, password } = labAccounts.administrator;
  const pdu = { groups: 'all', mgt: 'pdu', nodetype: 'pdu', pdutype: 'redfish', username, password };
  await define(server, {
    rp1: { ...pdu, ip: lab.addresses[0]! },
    rp2: { ...pdu, ip: lab.addresses[1]! },
    rp3: { ...pdu, ip: lab.addresses[0]!, password: 'wrong' },
    rp4: { groups: 'all', mgt: 'pdu', nodetype: 'pdu', pdutype: 'redfish', ip: lab.addresses[0]! },
    n1: { groups: 'all', pdu: 'rp1:1,rp1:2' },
  });
});
afterAll(() => Promise.all([server?.stop(), lab?.stop()]));

const power = async (node: string, body: object): Promise<{ value?: unknown; error?: string }> => {
  const { lines } = await readStream(server, 'PUT', `/nodes/${node}/power`, body);
  return lines.map(({ json }) => json).find((line) => line.node === node);
};

describe('a PDU with a Redfish service', () => {
  it('switches what feeds a node, and resets it', async () => {
    expect(await power('n1', { action: 'pduoff' })).toMatchObject({ value: { 'rp1:1': 'off', 'rp1:2': 'off' } });
    expect(await power('n1', { action: 'pdustat' })).toMatchObject({ value: { 'rp1:1': 'off', 'rp1:2': 'off' } });
    expect(await power('n1', { action: 'pdureset' })).toMatchObject({ value: { 'rp1:1': 'reset', 'rp1:2': 'reset' } });
    expect((await lab.state(0)).resets).toEqual(['1 Off', '2 Off', '1 On', '2 On']);
  });

  it('shows what is measured, and what it is', async () => {
    const { rp1 } = await server.ok('GET', '/nodes/rp1/outlets');
    expect(rp1).toMatchObject({ 'rp1:3': 'on', 'rp1:3 power': '300 Watts', 'rp1:3 current': '1.5 Amps' });
    const { rp1: vitals } = await server.ok('GET', '/nodes/rp1/vitals');
    expect(vitals).toMatchObject({ 'PDU Power': '3600 Watts', 'PDU Energy': '36.5 kWh', 'Outlet 8 State': 'on' });
    const { rp1: inventory } = await server.ok('GET', '/nodes/rp1/inventory');
    expect(inventory).toMatchObject({ 'PDU Model Number': ['LabPDU 8'], 'PDU Serial Number': ['PDU000001'] });
  });

  it.each([
    [
      'rp1',
      { action: 'off', outlets: [8] },
      'outlet 8 cannot be switched: its Redfish service offers no Outlet.PowerControl',
    ],
    ['rp1', { action: 'off', outlets: [9] }, 'it has no outlet 9; it has 1 to 8.'],
    ['rp2', { action: 'stat' }, 'its Redfish service has no PDU'],
    ['rp3', { action: 'stat' }, 'PDU rp3: '],
    ['rp4', { action: 'stat' }, 'it has no user name or no password: set username and password'],
  ])('is refused, or refuses: %s %j', async (node, body, sentence) => {
    expect((await power(node, body)).error).toContain(sentence);
  });
});

describe('a PDU whose service', () => {
  it.each([
    ['answers noise', { garbage: true }, { garbage: false }],
    ['is gone', { dead: 'refused' }, { dead: false }],
  ] as const)('%s is named', async (_what, faults, healthy) => {
    await lab.fault(0, faults);
    const { error } = await power('n1', { action: 'pdustat' });
    await lab.fault(0, healthy);
    expect(error).toContain('PDU rp1: ');
  });
});
