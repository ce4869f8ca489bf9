import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { writersOf } from '../harness/raw-sqlite.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { define, labNode, labNodes } from './nodes.ts';
import { readStream } from './stream.ts';

let server: TestServer;
let bmcs: BmcLab;
let services: RedfishLab;

beforeAll(async () => {
  [server, bmcs, services] = await Promise.all([
    // One takes three seconds for each answer, and some are silent.
    startServer({ environment: { MUSTER_IPMI_TIMEOUT: '5' } }),
    startBmcs({ count: 12, prefix: '127.83' }),
    startRedfish({ count: 6, prefix: '127.84', kinds: ['plain'] }),
  ]);
  await define(server, {
    ...labNodes('i', 'ipmi', bmcs.addresses),
    ...labNodes('r', 'redfish', services.addresses),
    wrongi: labNode('ipmi', bmcs.addresses[0]!, { bmcpassword: 'Wr0ngOne' }),
    wrongr: labNode('redfish', services.addresses[0]!, { bmcpassword: 'Wr0ngOne' }),
  });
});
afterAll(() => Promise.all([server?.stop(), bmcs?.stop(), services?.stop()]));

const power = (range: string) => server.call('GET', `/nodes/${range}/power`);

// Each has BMCs of its own; i10 to i12 are well.
describe.concurrent('an IPMI BMC', { timeout: 300_000 }, () => {
  it('that loses every twentieth answer is still read and switched, once each time', async () => {
    for (const index of [0, 1, 2]) await bmcs.fault(index, { loss: 5 });
    for (const action of ['on', 'off', 'on']) {
      await server.ok('PUT', '/nodes/i1-i3/power', { action });
      await server.ok('GET', '/nodes/i1-i3/vitals');
    }
    for (const index of [0, 1, 2]) {
      await bmcs.fault(index, { loss: 0 });
      expect(bmcs.state(index).changes.filter((line) => line.startsWith('power='))).toEqual([
        'power=1',
        'power=0',
        'power=1',
      ]);
    }
  });

  it('that is dead is reported to all who ask, and later again', async () => {
    await server.ok('GET', '/nodes/i4/power');
    // One that was never asked, and one in the middle of a session.
    for (const index of [3, 4]) await bmcs.fault(index, { loss: 100 });
    const asked = Array.from({ length: 20 }, (_, place) => power(place % 2 ? 'i4' : 'i10,i5'));
    const [replies, again, stream] = await Promise.all([
      Promise.all(asked),
      power('i5').then(() => power('i5')),
      readStream(server, 'GET', '/nodes/i4,i5,i10-i12/power'),
    ]);
    for (const reply of replies) {
      expect([403, 408]).toContain(reply.status);
      expect(reply.json.error).toEqual([
        expect.stringMatching(/^i[45]: its BMC at 127\.83\.0\.[45] (did not answer|stopped answering)/),
      ]);
    }
    const living = stream.lines.filter(({ json }) => json.value);
    expect(living).toHaveLength(3);
    expect(again.json.error[0]).toMatch(/^i5: its BMC at 127\.83\.0\.5 did not answer/);
    for (const index of [3, 4]) await bmcs.fault(index, { loss: 0 });
  });

  it('that does not know the account is told so, without the password', async () => {
    const reply = await power('wrongi');
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error[0]).toMatch(/^wrongi: the user "admin" or the password is wrong for its BMC/);
    expect(reply.text).not.toContain('Wr0ngOne');
  });

  it('that has forgotten its session is asked in a new one, and told once', async () => {
    await server.ok('GET', '/nodes/i6/power');
    await bmcs.fault(5, { forget: true });
    expect((await power('i6')).json).toEqual({ i6: { power: 'off' } });
    await bmcs.fault(5, { forget: true });
    await server.ok('PUT', '/nodes/i6/power', { action: 'on' });
    expect(bmcs.state(5).changes).toEqual(['power=1']);
  });

  it('that answers garbage is said to', async () => {
    await bmcs.fault(6, { garbage: true });
    const [reply, mixed] = await Promise.all([power('i7'), power('i7,i10')]);
    expect(errorOf(reply)).toEqual([418, 1]);
    expect(reply.json.error[0]).toMatch(/^i7: what its BMC at 127\.83\.0\.7 answers is not valid IPMI/);
    expect(errorOf(mixed)).toEqual([403, 1]);
    await bmcs.fault(6, { garbage: false });
  });

  it('that takes three seconds for each answer is waited for', async () => {
    await bmcs.fault(7, { delay: 3_000 });
    const stream = await readStream(server, 'GET', '/nodes/i8,i11/power');
    expect(stream.lines[0]!.json).toEqual({ node: 'i11', value: { power: 'off' } });
    expect(stream.lines[1]!.json).toEqual({ node: 'i8', value: { power: 'off' } });
    await bmcs.fault(7, { delay: 0 });
  });
});

describe('a Redfish service', () => {
  it('that is slow is waited for, and nobody waits with it', async () => {
    await services.fault(1, { delay: 800 });
    const stream = await readStream(server, 'GET', '/nodes/r1,r2/power');
    expect(stream.lines.slice(0, 2).map(({ json }) => json)).toEqual([
      { node: 'r1', value: { power: 'off' } },
      { node: 'r2', value: { power: 'off' } },
    ]);
    expect(stream.lines[1]!.at - stream.lines[0]!.at).toBeGreaterThan(1_000);
    await services.fault(1, { delay: 0 });
  });

  it('that is dead is told from one that is silent where nothing listens', async () => {
    await services.fault(2, { dead: 'refused' });
    const replies = await Promise.all([power('r3'), power('r3'), power('r1,r3')]);
    for (const reply of replies) {
      expect(errorOf(reply)).toEqual([403, 1]);
      expect(reply.json.error).toEqual([expect.stringMatching(/^r3: nothing listens at 127\.84\.0\.3:443/)]);
    }
    await services.fault(2, { dead: false });
  });

  it('that sends garbage is said to', async () => {
    await services.fault(3, { garbage: true });
    const reply = await power('r4');
    expect(errorOf(reply)).toEqual([418, 1]);
    expect(reply.json.error[0]).toMatch(/^r4: what its BMC answered to GET \/redfish\/v1\/ is not JSON/);
    await services.fault(3, { garbage: false });
    expect((await power('r4')).json).toEqual({ r4: { power: 'off' } });
  });

  it('that is too busy for a moment is asked again', async () => {
    await services.fault(3, { unavailable: 1 });
    expect((await power('r4')).json).toEqual({ r4: { power: 'off' } });
  });

  it('that has forgotten its sessions is asked in a new one', async () => {
    await services.fault(3, { forget: true });
    expect((await power('r4')).json).toEqual({ r4: { power: 'off' } });
  });

  it('that does not know the account is told so, without the password', async () => {
    const reply = await power('wrongr');
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error[0]).toMatch(/^wrongr: its BMC does not accept user "admin"/);
    expect(reply.text).not.toContain('Wr0ngOne');
  });

  it('that shows another certificate is sent nothing until its old one is forgotten', async () => {
    const before = await services.fingerprint(4);
    await server.ok('GET', '/nodes/r5/power');
    expect(await server.ok('GET', '/tables/spcert/rows/node=r5')).toMatchObject({ spcert: [{ fingerprint: before }] });
    const writers = writersOf(join(server.data, 'muster.sqlite'), 'spcert', 'r5');
    expect(writers).toEqual([{ user: 'root', client: '127.0.0.1', command: 'rpower' }]);
    await services.fault(4, { newCertificate: true });
    const after = await services.fingerprint(4);
    const { requests } = await services.state(4);
    const reply = await power('r5');
    expect(errorOf(reply)).toEqual([403, 1]);
    for (const piece of [before, after, 'DELETE /tables/spcert/rows/node=r5'])
      expect(reply.json.error[0]).toContain(piece);
    expect((await services.state(4)).requests).toEqual(requests);
    await server.ok('DELETE', '/tables/spcert/rows/node=r5');
    expect((await power('r5')).json).toEqual({ r5: { power: 'off' } });
  });
});

it('a server that stops leaves no session', async () => {
  const own = await startServer();
  await define(own, { ...labNodes('r', 'redfish', services.addresses), i9: labNode('ipmi', bmcs.addresses[8]!) });
  const before = await services.openSessions();
  await own.ok('GET', '/nodes/r1-r6,i9/power');
  expect(await services.openSessions()).toBe(before + 6);
  expect(await bmcs.sessions(8)).toBe(1);
  await own.stop();
  expect(await services.openSessions()).toBe(before);
  expect(await bmcs.sessions(8)).toBe(0);
});
