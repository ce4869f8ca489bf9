import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environmentFor, muster, program } from '../cli/command-line.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { type PduLab, startPdus } from '../lab/pdus.ts';
import { define } from './nodes.ts';
import { readStream } from './stream.ts';

const port = 16_167;
const makes = ['apc-rpdu2', 'raritan-px2', 'eaton-epdu', 'vertiv-geist', 'servertech-sentry4'] as const;
const pdus = makes.map((make, at) => ({ name: `pdu${at + 1}`, address: `127.0.2.${at + 1}`, make, outlets: 44 }));

let server: TestServer;
let lab: PduLab;

/** Node i has its supplies at two neighbouring PDUs. */
const feedOf = (node: number): string => {
  const [first, second] = [(node - 1) % 5, node % 5];
  const outlet = Math.ceil(node / 5);
  return `pdu${first + 1}:${outlet},pdu${second + 1}:${outlet + 20}`;
};

beforeAll(async () => {
  [server, lab] = await Promise.all([
    startServer({ environment: { MUSTER_PDU_RESET_PAUSE: '1', MUSTER_POWER_TIMEOUT: '4', MUSTER_SNMP_TIMEOUT: '1' } }),
    startPdus(pdus, port),
  ]);
  await define(server, {
    ...Object.fromEntries(
      pdus.map(({ name, address }) => [
        name,
        {
          groups: 'pdus',
          mgt: 'pdu',
          nodetype: 'pdu',
          ip: address,
          bmcport: String(port),
          snmpversion: '2c',
          community: name,
        },
      ]),
    ),
    ...Object.fromEntries(
      Array.from({ length: 100 }, (_, at) => [`c${at + 1}`, { groups: 'compute', pdu: feedOf(at + 1) }]),
    ),
    twin1: { groups: 'twins', pdu: 'pdu1:42' },
    twin2: { groups: 'twins', pdu: 'pdu1:42' },
    half: { groups: 'all', pdu: 'pdu2:43,away:1' },
    away: { groups: 'all', mgt: 'pdu', nodetype: 'pdu', ip: '127.0.2.99', bmcport: String(port), community: 'x' },
    bare: { groups: 'all' },
    lost: { groups: 'all', pdu: 'pdu1:44,nowhere:1' },
    odd: { groups: 'all', pdu: 'pdu1' },
    none: { groups: 'all', pdu: 'pdu1:77' },
    wrong: { groups: 'all', pdu: 'bare:1' },
  });
});
afterAll(() => Promise.all([server?.stop(), lab?.stop()]));

const power = (range: string, body: object, token?: string) =>
  server.call('PUT', `/nodes/${range}/power`, { body, ...(token ? { token } : {}) });
const errors = async (range: string, body: object, token?: string): Promise<string> => {
  const { text } = await power(range, body, token);
  return text === '' ? 'done' : (JSON.parse(text) as { error: string[] }).error.join(' ');
};
const done = async (range: string, body: object): Promise<Record<string, Record<string, string>>> => {
  const { lines } = await readStream(server, 'PUT', `/nodes/${range}/power`, body);
  const results = lines.map(({ json }) => json).filter(({ node }) => node !== undefined);
  expect(results.filter(({ error }) => error !== undefined)).toEqual([]);
  return Object.fromEntries(results.map(({ node, value }) => [node, value]));
};

describe('the outlets that feed nodes', () => {
  it('of a hundred nodes at five PDUs are read in one request', async () => {
    const states = await done('compute', { action: 'pdustat' });
    expect(Object.keys(states)).toHaveLength(100);
    expect(states['c1']).toEqual({ 'pdu1:1': 'on', 'pdu2:21': 'on' });
    expect(states['c100']).toEqual({ 'pdu5:20': 'on', 'pdu1:40': 'on' });
  });

  it('of a hundred nodes are switched in one request, each by one order', async () => {
    const states = await done('compute', { action: 'pduoff' });
    expect(new Set(Object.values(states).flatMap((each) => Object.values(each)))).toEqual(new Set(['off']));
    for (const { name } of pdus)
      for (let outlet = 1; outlet <= 40; outlet++)
        expect([name, outlet, lab.state(name, outlet)]).toEqual([name, outlet, 'off']);
    expect(lab.orders('pdu3').filter((order) => order === '7 off')).toHaveLength(1);
    await done('compute', { action: 'pduon' });
    expect(
      Object.values(await done('compute', { action: 'pdustat' })).every((each) =>
        Object.values(each).every((state) => state === 'on'),
      ),
    ).toBe(true);
  });

  it('are all off before one is on again in a reset', async () => {
    const before = ['pdu2', 'pdu3'].map((pdu) => lab.orders(pdu).length);
    expect(await done('c2', { action: 'pdureset' })).toEqual({ c2: { 'pdu2:1': 'reset', 'pdu3:21': 'reset' } });
    expect(lab.orders('pdu2').slice(before[0])).toEqual(['1 off', '1 on']);
    expect(lab.orders('pdu3').slice(before[1])).toEqual(['21 off', '21 on']);
  });

  it('are shown with what is measured and whom they feed', async () => {
    const { c1, pdu1 } = (await server.ok('GET', '/nodes/c1,pdu1/outlets')) as Record<string, Record<string, unknown>>;
    expect(c1).toMatchObject({
      'pdu1:1': 'on',
      'pdu1:1 power': '100 Watts',
      'pdu2:21 energy': '21 kWh',
      'pdu2:21 feeds': ['c1'],
    });
    expect(pdu1).toMatchObject({ 'pdu1:42 feeds': ['twin1', 'twin2'], 'pdu1:43': 'on' });
  });
});

describe('an outlet that feeds another node', () => {
  it('is switched only by force, and the other node is named', async () => {
    for (const action of ['pduoff', 'pduon', 'pdureset'])
      expect(await errors('twin1', { action })).toBe(
        'twin1: its outlet pdu1:42 also feeds twin2: force switches these too.',
      );
    expect(lab.orders('pdu1')).not.toContain('42 off');
    expect(await done('twin1', { action: 'pduoff', force: true })).toEqual({ twin1: { 'pdu1:42': 'off' } });
    expect(lab.state('pdu1', 42)).toBe('off');
    expect(await done('twins', { action: 'pduon' })).toEqual({
      twin1: { 'pdu1:42': 'on' },
      twin2: { 'pdu1:42': 'on' },
    });
  });

  it('is not reset twice by one request', async () => {
    expect(await errors('twins', { action: 'pdureset' })).toContain('which the same request resets');
  });

  it('is of a PDU that is switched as a whole, or outlet by outlet', async () => {
    expect(await errors('pdu1', { action: 'off' })).toMatch(/^pdu1: its outlet pdu1:1 also feeds c1: force/);
    expect(await errors('pdu1,c1', { action: 'off', outlets: [1] })).toContain('pdu1: its outlet pdu1:1 also feeds c1');
    expect(await done('pdu1', { action: 'off', outlets: '41,043' })).toEqual({
      pdu1: { 'pdu1:41': 'off', 'pdu1:43': 'off' },
    });
    expect(await done('pdu1', { action: 'stat', outlets: [41, 42] })).toEqual({
      pdu1: { 'pdu1:41': 'off', 'pdu1:42': 'on' },
    });
    expect(await done('pdu1', { action: 'on', outlets: '41,43' })).toEqual({
      pdu1: { 'pdu1:41': 'on', 'pdu1:43': 'on' },
    });
  });
});

describe('an account that may switch some nodes', () => {
  let token: string;
  beforeAll(async () => {
    token = await addUser(server, 'some');
    await server.ok('PUT', '/policy/8', {
      name: 'some',
      commands: 'rpower,lsoutlets',
      noderange: 'c1,twin1,pdu4',
      rule: 'allow',
    });
  });

  it('switches what feeds them alone', async () => {
    const reply = await power('c1', { action: 'pduoff' }, token);
    expect([reply.status, lab.state('pdu1', 1), lab.state('pdu2', 21)]).toEqual([200, 'off', 'off']);
    await done('c1', { action: 'pduon' });
  });

  it('does not switch what feeds others, by force neither, and learns no names', async () => {
    for (const [range, body] of [
      ['twin1', { action: 'pduoff', force: true }],
      ['pdu4', { action: 'off', force: true }],
      ['pdu4', { action: 'off', outlets: [4], force: true }],
    ] as const) {
      const sentence = await errors(range, body, token);
      expect(sentence).not.toMatch(/twin2|c\d/);
      expect(sentence).toMatch(/also feeds a node that you may not switch|may not know of/);
    }
    expect(lab.state('pdu4', 4)).toBe('on');
    expect(lab.state('pdu1', 42)).toBe('on');
  });

  it('sees no others in the list of outlets', async () => {
    const { json } = await server.call('GET', '/nodes/pdu4,twin1/outlets', { token });
    expect(json.twin1).toMatchObject({ 'pdu1:42': 'on', 'pdu1:42 feeds': ['twin1'] });
    expect(Object.keys(json.pdu4).filter((key) => key.endsWith('feeds'))).toEqual([]);
  });

  it('does not point its nodes at other outlets', async () => {
    await server.ok('PUT', '/policy/8.1', { name: 'some', commands: 'chdef', noderange: 'c1', rule: 'allow' });
    const { status } = await server.call('PUT', '/nodes/c1', { body: { pdu: 'pdu4:4' }, token });
    expect(status).toBe(403);
  });
});

describe('what cannot be', () => {
  it.each([
    ['bare', { action: 'pduon' }, 'bare: its attribute pdu is not set; write PDU:OUTLET there'],
    ['lost', { action: 'pdustat' }, 'lost: its attribute pdu names nowhere, and there is no node of that name.'],
    ['odd', { action: 'pdustat' }, 'odd: its attribute pdu has "pdu1", which is not PDU:OUTLET'],
    ['none', { action: 'pduoff' }, 'none: PDU pdu1: it has no outlet 77; it has 1 to 44.'],
    ['wrong', { action: 'pdustat' }, 'wrong: PDU bare: rpower is not possible: its attribute mgt is not set.'],
    ['pdu1', { action: 'boot' }, 'pdu1: boot is not possible with a PDU; it has pduon'],
    ['pdu1', { action: 'stat', outlets: ['x'] }, 'pdu1: PDU pdu1: it has no outlet x'],
    ['pdu1', { action: 'on', outlets: '' }, '"outlets" names no outlet'],
    ['c1', { action: 'pduoff', outlets: '1' }, 'c1: it is no PDU: outlets are chosen of PDUs alone'],
    ['c1', { action: 'nmi', outlets: '1' }, 'nmi is for no outlets'],
    ['c1', { action: 'pdustat', force: true }, 'force is for outlets and chassis that are switched, not for pdustat.'],
    ['c1', { action: 'pduof' }, '"pduof" is not a power action'],
    ['c1', { action: 'pduoff', relay: 1 }, 'relay'],
  ])('is refused: %s %j', async (range, body, sentence) => {
    expect(await errors(range, body)).toContain(sentence);
  });

  it('because a PDU is away is named, with what the others did', async () => {
    const sentence = await errors('half', { action: 'pduoff' });
    expect(sentence).toContain('half: PDU away: nothing listens at UDP port');
    expect(sentence).toContain('Done: pdu2:43 is off.');
    // A reset leaves nothing off because of it.
    await done('pdu2', { action: 'on', outlets: [43], force: true });
    expect(await errors('half', { action: 'pdureset' })).toContain(
      'Its outlets are on again, but for those of PDU away: look at these.',
    );
    expect(lab.state('pdu2', 43)).toBe('on');
  });

  it('because an outlet does not switch is named', async () => {
    await lab.stick('pdu3', 3);
    expect(await errors('c13', { action: 'pduoff' })).toContain('c13: PDU pdu3: outlet 3 did not go off within 4 s');
    expect(lab.orders('pdu3').filter((order) => order === '3 off')).toHaveLength(2);
    await lab.stick('pdu3', 3, false);
    await done('c13', { action: 'pduon' });
  });
});

describe('a dry run', () => {
  it('names PDUs and outlets, and nothing is sent', async () => {
    const before = lab.orders('pdu1').length;
    const { json } = await server.call('PUT', '/nodes/c1/power', {
      body: { action: 'pduoff' },
      query: { dryRun: '1' },
    });
    expect(json.targets).toEqual({
      c1: { mgt: 'pdu', address: `127.0.2.1:${port}, 127.0.2.2:${port}`, outlets: 'pdu1:1, pdu2:21' },
    });
    expect(lab.orders('pdu1')).toHaveLength(before);
  });
});

describe('the command line', () => {
  const run = async (...words: string[]): Promise<string> => {
    const { stdout, stderr } = await program(muster, words, environmentFor(server, home));
    return stdout + stderr;
  };
  const home = mkdtempSync(join(tmpdir(), 'muster-pdu-'));
  afterAll(() => rmSync(home, { recursive: true }));

  it('prints what the reference system prints', async () => {
    expect(await run('rpower', 'c1', 'pduoff')).toBe('c1: pdu1 outlet 1 is off\nc1: pdu2 outlet 21 is off\n');
    expect(await run('rpower', 'c1', 'pdustat')).toBe('c1: pdu1 outlet 1 is off\nc1: pdu2 outlet 21 is off\n');
    expect(await run('rpower', 'c1', 'pduon')).toBe('c1: pdu1 outlet 1 is on\nc1: pdu2 outlet 21 is on\n');
    expect(await run('rpower', 'pdu5', 'relay=3', 'stat')).toBe('pdu5: outlet 3 is on\n');
    expect(await run('rpower', 'pdu1', 'stat')).toContain('pdu1: outlet 44 is on\n');
    expect(await run('rvitals', 'pdu1', 'wattage')).toContain('pdu1: PDU Power: 1230 Watts\n');
  });

  it('refuses what it does not know, and shows outlets', async () => {
    expect(await run('rpower', 'pdu1', 'off', 'relay=1', 'now')).toContain('"now" means nothing behind off');
    expect(await run('rpower', 'twin1', 'pduoff')).toContain('also feeds twin2');
    expect(await run('outlets', 'c1')).toContain('c1: pdu1:1 on, 100 Watts, 0.5 Amps, 1 kWh, Outlet 1, feeds c1\n');
  });
});
