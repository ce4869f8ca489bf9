import { execFile } from 'node:child_process';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedfishLab, startRedfish } from './redfish.ts';

let lab: RedfishLab;
beforeAll(async () => {
  lab = await startRedfish({
    count: 5,
    prefix: '127.102',
    port: 8443,
    powerDelay: 30,
    kinds: ['plain', 'plain', 'enclosure', 'sparse', 'openbmc'],
  });
});
afterAll(() => lab?.stop());

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string[]>>;
  // oxlint-disable-next-line typescript/no-explicit-any -- resources of every shape are looked into
  readonly json: any;
}

interface Extra {
  readonly login?: string;
  readonly headers?: readonly string[];
  readonly body?: unknown;
}

/** One request of curl; a status of 0 is no reply at all. */
function curl(index: number, method: string, path: string, extra: Extra = {}): Promise<Reply> {
  const { login = 'admin:secret', headers = [], body } = extra;
  const args = ['-sk', '-m', '2', '-X', method, '-w', '\n%{http_code}\n%{header_json}', '-u', login];
  for (const header of headers) args.push('-H', header);
  if (body !== undefined) args.push('-H', 'Content-Type: application/json', '-d', JSON.stringify(body));
  const target = `https://${lab.addresses[index]}:${lab.port}${path}`;
  return new Promise((resolve) => {
    execFile('curl', [...args, target], (_, output) => {
      const [, text = '', status = '0', headersText = '{}'] = /^([^]*)\n(\d{3})\n([^]*)$/.exec(output) ?? [];
      resolve({
        status: Number(status),
        headers: JSON.parse(headersText || '{}'),
        get json() {
          return JSON.parse(text);
        },
      });
    });
  });
}

const get = async (index: number, path: string) => (await curl(index, 'GET', path)).json;

/** The first member of a collection of the service root. */
async function first(index: number, name: 'Systems' | 'Chassis' | 'Managers') {
  const root = await get(index, '/redfish/v1/');
  const collection = await get(index, root[name]['@odata.id']);
  return get(index, collection.Members[0]['@odata.id']);
}

async function reset(index: number, type: string): Promise<number> {
  const system = await first(index, 'Systems');
  const { target } = system.Actions['#ComputerSystem.Reset'];
  return (await curl(index, 'POST', target, { body: { ResetType: type } })).status;
}

/** Every address reachable by links from the service root. */
async function crawl(index: number): Promise<string[]> {
  const seen = new Set<string>();
  const open = ['/redfish/v1/'];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    const reply = await curl(index, 'GET', path);
    expect(reply.status, path).toBe(200);
    JSON.stringify(reply.json, (key, value) => {
      if (/^@odata\.id$|nextLink$|^DataSourceUri$/.test(key) && !value.includes('#')) open.push(value);
      return value;
    });
  }
  return [...seen];
}

const fingerprint = (index: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: lab.addresses[index]!, port: lab.port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.once('error', reject);
  });

describe('simulated Redfish services', () => {
  it.each([0, 1, 2, 3, 4])(
    'service %i has no link that leads nowhere',
    async (index) => {
      expect((await crawl(index)).length).toBeGreaterThan(20);
      expect((await lab.state(index)).missed).toEqual([]);
    },
    60_000,
  );

  it('have addresses that differ from service to service', async () => {
    const ids = await Promise.all([0, 1].map(async (index) => (await first(index, 'Systems'))['@odata.id']));
    expect(ids[0]).not.toBe(ids[1]);
    expect((await first(4, 'Systems'))['@odata.id']).toBe('/redfish/v1/Systems/system');
  });

  it('let nobody in without a valid login', async () => {
    expect((await curl(0, 'GET', '/redfish/v1/Systems', { login: 'admin:wrong' })).status).toBe(401);
    expect((await curl(0, 'GET', '/redfish/v1/', { login: ':' })).status).toBe(200);
    const viewer = { login: 'viewer:viewpw' };
    expect((await curl(0, 'GET', '/redfish/v1/Systems', viewer)).status).toBe(200);
    const system = await first(0, 'Systems');
    const target = system.Actions['#ComputerSystem.Reset'].target;
    expect((await curl(0, 'POST', target, { ...viewer, body: { ResetType: 'On' } })).status).toBe(403);
  });

  it('count sessions until they are logged out', async () => {
    const login = { login: ':', body: { UserName: 'admin', Password: 'secret' } };
    const opened = await curl(1, 'POST', '/redfish/v1/SessionService/Sessions', login);
    expect(opened.status).toBe(201);
    expect(await lab.openSessions()).toBe(1);
    const token = { login: ':', headers: [`X-Auth-Token: ${opened.headers['x-auth-token']![0]}`] };
    expect((await curl(1, 'GET', '/redfish/v1/Systems', token)).status).toBe(200);
    expect((await curl(1, 'DELETE', opened.headers.location![0]!, token)).status).toBe(204);
    expect((await curl(1, 'GET', '/redfish/v1/Systems', token)).status).toBe(401);
    expect(await lab.state(1)).toMatchObject({ openSessions: 0, sessionsOpened: 1 });
  });

  it('change the power state and take the boot override once', async () => {
    const system = await first(0, 'Systems');
    const Boot = { BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Pxe' };
    expect((await curl(0, 'PATCH', system['@odata.id'], { body: { Boot } })).status).toBe(204);
    expect(await reset(0, 'ForceRestart')).toBe(409);
    expect(await reset(0, 'On')).toBe(204);
    await expect.poll(async () => (await lab.state(0)).power).toBe('On');
    expect(await reset(0, 'ForceRestart')).toBe(204);
    expect(await reset(0, 'Dance')).toBe(400);
    expect(await lab.state(0)).toMatchObject({ starts: ['Pxe', 'None'], resets: ['On', 'ForceRestart'] });
  });

  it('want the right ETag where they want one', async () => {
    const system = await first(1, 'Systems');
    const path = system['@odata.id'];
    const body = { LocationIndicatorActive: true };
    expect((await curl(1, 'PATCH', path, { body })).status).toBe(428);
    expect((await curl(1, 'PATCH', path, { body, headers: ['If-Match: "old"'] })).status).toBe(412);
    const { headers } = await curl(1, 'GET', path);
    expect((await curl(1, 'PATCH', path, { body, headers: [`If-Match: ${headers.etag![0]}`] })).status).toBe(204);
    expect((await lab.state(1)).indicator).toBe('Blinking');
    expect((await curl(3, 'GET', (await first(3, 'Systems'))['@odata.id'])).headers.etag).toBeUndefined();
  });

  it('have the power limit in the old place or the new one', async () => {
    const old = (await first(0, 'Chassis')).Power['@odata.id'];
    const body = { PowerControl: [{ PowerLimit: { LimitInWatts: 300 } }] };
    expect((await curl(0, 'PATCH', old, { body })).status).toBe(204);
    expect((await lab.state(0)).limit).toEqual({ watts: 300, active: true });
    const chassis = await first(1, 'Chassis');
    expect(chassis.Power).toBeUndefined();
    const metrics = chassis.EnvironmentMetrics['@odata.id'];
    const limit = { body: { PowerLimitWatts: { SetPoint: 20 } }, headers: ['If-Match: *'] };
    expect((await curl(1, 'PATCH', metrics, limit)).status).toBe(400);
  });

  it('have an event log of several pages that can be cleared', async () => {
    await lab.log(1, 'The door is open.', 'Warning');
    const system = await first(1, 'Systems');
    const services = await get(1, system.LogServices['@odata.id']);
    const service = await get(1, services.Members[0]['@odata.id']);
    const page = await get(1, service.Entries['@odata.id']);
    const next = await get(1, page['Members@odata.nextLink']);
    expect([...page.Members, ...next.Members].at(-1).Message).toBe('The door is open.');
    expect((await curl(1, 'POST', service.Actions['#LogService.ClearLog'].target)).status).toBe(204);
    expect((await get(1, service.Entries['@odata.id'])).Members).toEqual([]);
  });

  it('contain nodes where they are enclosures', async () => {
    const enclosure = await first(2, 'Chassis');
    const sleds = await Promise.all(
      enclosure.Links.Contains.map((sled: { '@odata.id': string }) => get(2, sled['@odata.id'])),
    );
    expect(sleds.map(({ Model }) => Model)).toEqual(['LabSled 100', 'LabSled 200', 'LabSled 300', undefined]);
    expect(sleds[0].Location.PartLocation.LocationOrdinalValue).toBe(1);
  });

  it('listen where they have been moved to', async () => {
    const manager = await first(4, 'Managers');
    const interfaces = await get(4, manager.EthernetInterfaces['@odata.id']);
    const path = interfaces.Members[0]['@odata.id'];
    const move = (Address: string) => ({ body: { IPv4StaticAddresses: [{ Address, SubnetMask: '255.0.0.0' }] } });
    expect((await curl(4, 'PATCH', path, move('127.102.9.9'))).status).toBe(204);
    await expect.poll(async () => (await curl(4, 'GET', path)).status).toBe(0);
    expect((await lab.state(4)).address).toBe('127.102.9.9');
  });

  it('have certificates of their own, which change when told to', async () => {
    expect(await fingerprint(0)).toBe(await lab.fingerprint(0));
    expect(await fingerprint(0)).not.toBe(await fingerprint(1));
    const before = await fingerprint(0);
    await lab.fault(0, { newCertificate: true });
    expect(await fingerprint(0)).not.toBe(before);
  });

  it('fail in the ways they are told to', async () => {
    const path = '/redfish/v1/';
    await lab.fault(3, { unavailable: 1 });
    expect((await curl(3, 'GET', path)).status).toBe(503);
    expect((await curl(3, 'GET', path)).status).toBe(200);
    await lab.fault(3, { garbage: true });
    const garbled = await curl(3, 'GET', path);
    expect(() => garbled.json).toThrow();
    await lab.fault(3, { garbage: false, dead: 'refused' });
    expect((await curl(3, 'GET', path)).status).toBe(0);
    await lab.fault(3, { dead: 'silent' });
    expect((await curl(3, 'GET', path)).status).toBe(0);
    await lab.fault(3, { dead: false });
    expect((await curl(3, 'GET', path)).status).toBe(200);
  });
});
