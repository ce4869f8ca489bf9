import type { Agent } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { labAddress, type LabDevice, type SlpLab, startSlpLab } from '../../lab/slp.ts';
import {
  agentFor,
  call,
  callJson,
  login,
  removeDirectory,
  type Service,
  startService,
  stopService,
  temporaryDirectory,
} from '../../process/process.ts';

let lab: SlpLab;
let inside: Service;
let service: Service;
let agent: Agent;
let token: string;
const data = temporaryDirectory();

beforeAll(async () => {
  lab = await startSlpLab();
  inside = await startService(data, {
    under: lab.under,
    environment: { MUSTER_DISCOVERY_INTERFACES: lab.interface, MUSTER_DISCOVERY_SECONDS: '10' },
  });
  service = { ...inside, port: await lab.lead(inside.port) };
  agent = agentFor(service);
  token = await untilReady(() => login(service, agent));
});
afterAll(async () => {
  agent?.destroy();
  if (inside) expect(await stopService(inside)).toBe(0);
  await lab?.stop();
  removeDirectory(data);
});

/** The way into the namespace opens a moment after the server. */
async function untilReady<T>(work: () => Promise<T>): Promise<T> {
  for (let left = 100; ; left--) {
    try {
      return await work();
    } catch (error) {
      if (left === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

const get = async (path: string, root = '/muster', as = token) => {
  const { status, body } = await callJson(service, agent, as, 'GET', `${root}/services/slpnodes${path}`);
  return { status, json: JSON.parse(body) as Record<string, Record<string, string>> };
};

const hardware = 'service:management-hardware.IBM';
const machine = '(machinetype-model=8205-E6B),(serial-number=1074CDP),(cage-number=2),(frame-number=1)';

const fsp = (i: number, slot: number): LabDevice => ({
  address: labAddress(i),
  services: [
    {
      type: `${hardware}:cec-service-processor`,
      attributes: `(type=cec-service-processor),${machine},(slot=${slot}),(ip-address=${labAddress(i)})`,
    },
  ],
});
const cmm: LabDevice = {
  address: labAddress(2),
  services: [
    {
      type: `${hardware}:chassis-management-module`,
      attributes: `(type=chassis-management-module),(enclosure-mtm=98939AX),(enclosure-serial-number=102537A),(slot=1),(hostname=cmm01),(ipv4-address=${labAddress(2)})`,
    },
  ],
};
const xcc: LabDevice = {
  address: labAddress(3),
  services: [
    {
      type: 'service:management-hardware.Lenovo:lenovo-xclarity-controller',
      attributes: '(machinetype-model=7X06),(serial-number=J1)',
    },
  ],
};
const unknown: LabDevice = {
  address: labAddress(4),
  services: [{ type: `${hardware}:next-generation`, attributes: '(machinetype-model=NG),(serial-number=1)' }],
};
const redfish: LabDevice = { address: labAddress(5), services: [], redfish: '6f1c7e1a-0000-4000-8000-0123456789ab' };
const all = [fsp(0, 1), fsp(1, 0), cmm, xcc, unknown, redfish];
const cec = 'Server-8205-E6B-SN1074CDP';

describe('GET /services/slpnodes', () => {
  it('is {} when nobody answers', async () => {
    await lab.play([fsp(0, 1)].map((device) => ({ ...device, deaf: 1_000 })));
    expect(await get('')).toEqual({ status: 200, json: {} });
    expect(await get('', '/xcatws')).toEqual({ status: 200, json: {} });
  });

  it('tells devices of all types', async () => {
    await lab.play(all);
    const { status, json } = await get('');
    expect(status).toBe(200);
    expect(Object.keys(json)).toEqual([
      labAddress(0),
      labAddress(1),
      labAddress(5),
      'Server-7X06-SNJ1',
      cec,
      'Server-NG-SN1',
      'cmm01',
    ]);
    expect(json[labAddress(0)]).toEqual({
      objtype: 'node',
      hcp: labAddress(0),
      nodetype: 'ppc',
      mtm: '8205-E6B',
      serial: '1074CDP',
      side: 'A-0',
      groups: 'fsp,all',
      mgt: 'fsp',
      id: '2',
      parent: cec,
      mac: lab.mac,
      hidden: '1',
      otherinterfaces: labAddress(0),
      hwtype: 'fsp',
    });
    expect(json[labAddress(5)]).toMatchObject({
      mgt: 'redfish',
      uuid: redfish.redfish,
      bmc: labAddress(5),
      mac: lab.mac,
    });
    expect(json['Server-NG-SN1']).toMatchObject({ hwtype: 'next-generation' });
  });

  it('tells the announced address beside the one a device answers from', async () => {
    const [announcement] = cmm.services;
    await lab.play([
      { ...cmm, services: [{ ...announcement!, host: '192.168.70.100' }] },
      {
        address: labAddress(5),
        services: [],
        ssdp: [
          `HTTP/1.1 200 OK\r\nST:urn:dmtf-org:service:redfish-rest:1:15\r\nUSN:uuid:${redfish.redfish}::x\r\nAL:https://192.168.70.125/redfish/v1/\r\n\r\n`,
        ],
      },
    ]);
    const { json } = await get('');
    expect([json['cmm01']?.['usercomment'], json[labAddress(5)]?.['usercomment']]).toEqual([
      `answered from ${labAddress(2)}, announces 192.168.70.100`,
      `answered from ${labAddress(5)}, announces 192.168.70.125`,
    ]);
    expect(json[labAddress(5)]).toMatchObject({ bmc: labAddress(5) });
  });

  it.each([
    ['CEC', [labAddress(0), labAddress(1), cec]],
    ['FSP', [labAddress(0), labAddress(1), cec]],
    ['fsp', [labAddress(0), labAddress(1), cec]],
    ['CMM', ['cmm01']],
    ['XCC', ['Server-7X06-SNJ1']],
    ['REDFISH', [labAddress(5)]],
    ['HMC', []],
    ['IMM2', []],
  ])('/%s tells those of the type', async (type, names) => {
    await lab.play(all);
    const { status, json } = await get(`/${type}`);
    expect([status, Object.keys(json)]).toEqual([200, names]);
  });

  it('takes the type from what devices say, not from the question they answer, and tells each once', async () => {
    const identity = (i: number): string => `(enclosure-machinetype-model=T),(enclosure-serial-number=S${i})`;
    const played = (i: number, ...services: LabDevice['services']): LabDevice => ({
      address: labAddress(i),
      services,
      answersAll: true,
    });
    await lab.play([
      played(0, { type: `${hardware}:chassis-management-module`, attributes: identity(0) }),
      // By its attributes only.
      played(1, {
        type: `${hardware}:management-module`,
        url: `https://${labAddress(1)}/`,
        attributes: `(type=integrated-management-module2),${identity(1)}`,
      }),
      // The newer kind under the name of its forerunner too.
      played(
        2,
        { type: `${hardware}:management-module`, attributes: identity(2) },
        { type: `${hardware}:chassis-management-module`, attributes: identity(2) },
      ),
      played(3, { type: 'service:printer:lpr', attributes: '(machinetype-model=P),(serial-number=1)' }),
    ]);
    const kindsOf = ({ json }: Awaited<ReturnType<typeof get>>): object =>
      Object.fromEntries(Object.entries(json).map(([name, { hwtype }]) => [name, hwtype]));
    const chassis = { 'Server-T-SNS0': 'cmm', 'Server-T-SNS2': 'cmm' };
    expect(kindsOf(await get(''))).toEqual({ ...chassis, 'Server-T-SNS1': 'imm2' });
    expect(kindsOf(await get('/CMM'))).toEqual(chassis);
    expect(kindsOf(await get('/IMM2'))).toEqual({ 'Server-T-SNS1': 'imm2' });
    expect(kindsOf(await get('/FSP'))).toEqual({});
  });

  it('serves those who ask for the same at the same time by one search', async () => {
    await lab.play(all);
    const replies = await Promise.all(Array.from({ length: 8 }, () => get('/CMM')));
    expect(replies.every(({ json }) => json['cmm01']?.['serial'] === '102537A')).toBe(true);
    // Eight searches would ask 16 questions, for the type and for directories, in three rounds at least.
    const { multicasts, broadcasts } = await lab.seen();
    expect(Math.max(multicasts, broadcasts)).toBeLessThan(48);
    expect(Math.min(multicasts, broadcasts)).toBeGreaterThanOrEqual(6);
  });

  it('names devices as the nodes that are defined', async () => {
    await lab.play(all);
    const body = { groups: 'all', mgt: 'blade', mtm: '98939AX', serial: '102537A', hwtype: 'cmm' };
    await callJson(service, agent, token, 'POST', '/muster/nodes/chassis7', body);
    await callJson(service, agent, token, 'POST', '/muster/nodes/n5', {
      groups: 'all',
      mgt: 'redfish',
      bmc: labAddress(5),
    });
    expect(Object.keys((await get('/CMM')).json)).toEqual(['chassis7']);
    expect((await get('/REDFISH')).json).toMatchObject({ n5: { bmc: labAddress(5) } });
    await callJson(service, agent, token, 'DELETE', '/muster/nodes/chassis7,n5');
  });

  it.each(['PRINTER', 'toString', '__proto__', 'CMM,FSP', '%20'])(
    '/%s is an error that names the types',
    async (type) => {
      for (const root of ['/muster', '/xcatws']) {
        const { status, json } = await get(`/${type}`, root);
        expect([status, json['errorcode']]).toEqual([403, 1]);
        expect(json['error']?.[0]).toMatch(
          /known are CEC, FRAME, MM, IVM, RSA, HMC, CMM, IMM2, FSP, BPA, XCC, SMM, REDFISH\.$/,
        );
      }
    },
  );

  it('is a command of its own for the policy', async () => {
    const rows = '/muster/tables/passwd/rows/key=xcat,username=finder';
    await callJson(service, agent, token, 'PUT', rows, { password: 'finds' });
    const finder = await login(service, agent, 'finder', 'finds');
    expect((await get('/HMC', '/muster', finder)).status).toBe(403);
    const rule = { name: 'finder', commands: 'lsslp', parameters: '-z -s HMC', rule: 'allow' };
    await callJson(service, agent, token, 'POST', '/muster/policy/7', rule);
    expect((await get('/HMC', '/muster', finder)).status).toBe(200);
    expect((await get('/CMM', '/muster', finder)).status).toBe(403);
    expect((await call(service, agent, 'GET', '/muster/services/slpnodes')).status).toBe(401);
  });

  it('finds 250 devices of several types at once', async () => {
    await lab.play(
      Array.from({ length: 250 }, (_, i) => ({
        address: labAddress(i),
        services: [
          {
            type: `${hardware}:${i % 2 ? 'integrated-management-module2' : 'management-module'}`,
            attributes: `(enclosure-machinetype-model=T),(enclosure-serial-number=S${i})`,
          },
        ],
        redfish: i % 5 === 0 ? `6f1c7e1a-0000-4000-8000-${String(i).padStart(12, '0')}` : undefined,
      })) as LabDevice[],
    );
    const found: Record<string, string>[] = Object.values((await get('')).json);
    const count = (hwtype: string): number => found.filter((each) => each['hwtype'] === hwtype).length;
    expect([count('imm2'), count('mm'), count('redfish')]).toEqual([125, 125, 50]);
    expect(found.every((each) => each['hwtype'] === 'redfish' || each['serial'])).toBe(true);
  });

  it('/REDFISH tells each service once, at the address it answered from, whatever it sends', async () => {
    const target = 'urn:dmtf-org:service:redfish-rest:1';
    const uuid = (i: number): string => `6f1c7e1a-0000-4000-8000-${String(i).padStart(12, '0')}`;
    const answer = (...lines: string[]): string => ['HTTP/1.1 200 OK', ...lines, '', ''].join('\r\n');
    const honest = (i: number): string => answer(`ST:${target}`, `USN:uuid:${uuid(i)}::${target}`);
    const played = (i: number, ...ssdp: string[]): LabDevice => ({ address: labAddress(i), services: [], ssdp });
    await lab.play([
      { address: labAddress(0), services: [], redfish: uuid(0) },
      { address: lab.linkLocal, services: [], redfish: uuid(0) },
      // Another machine's address, a wrong one, none of the web.
      played(1, answer(`ST:${target}`, `USN:uuid:${uuid(1)}`, `AL:https://${labAddress(99)}/redfish/v1/`)),
      played(2, answer(`ST:${target}`, 'USN:uuid:../../etc/passwd', 'AL:file:///etc/passwd')),
      played(3, ...Array.from({ length: 300 }, () => honest(3))),
      // Without a UUID at first.
      played(4, answer(`ST:${target}`), honest(4)),
      played(5, `HTTP/1.1 200 OK\r\nX: ${'\xff\x00\xe4'.repeat(5_000)}\r\nST:${target}\r\nUSN:uuid:${uuid(5)}\r\n\r\n`),
      played(6, '\xff'.repeat(60_000), 'HTTP/1.1 200 OK', '', answer('ST:ssdp:all', `USN:uuid:${uuid(6)}`)),
      played(7, answer(...Array.from({ length: 9_000 }, () => 'A:b'), `ST:${target}`)),
      played(8, 'NOTIFY * HTTP/1.1\r\nNT:x\r\n\r\n', answer(`ST:${target}0`, `USN:uuid:${uuid(8)}`)),
    ]);
    const { status, json } = await get('/REDFISH');
    expect(status).toBe(200);
    expect(Object.entries(json).map(([name, { bmc, uuid: told }]) => [name, bmc, told])).toEqual(
      [uuid(0), uuid(1), undefined, uuid(3), uuid(4), uuid(5)].map((told, i) => [labAddress(i), labAddress(i), told]),
    );
  });

  it('/REDFISH finds services that have only IPv6', async () => {
    await lab.play([
      { address: labAddress(0), services: [] },
      { address: lab.linkLocal, services: [], redfish: '6f1c7e1a-0000-4000-8000-0123456789ab' },
    ]);
    const { json } = await get('/REDFISH');
    const own = `${lab.linkLocal.replace(/%.*/, '')}%${lab.interface}`;
    expect(Object.values(json)).toMatchObject([
      { bmc: own, mgt: 'redfish', uuid: '6f1c7e1a-0000-4000-8000-0123456789ab' },
    ]);
  });
});
