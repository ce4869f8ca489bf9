import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';

let server: TestServer;
const installdir = temporaryDirectory();
beforeAll(async () => {
  server = await startServer();
  await server.ok('PUT', '/globalconf/attrs/installdir', { installdir });
  const attributes = { groups: 'all,compute', netboot: 'xnba' };
  await server.ok('PUT', '/nodes', { n1: { ...attributes, mac: '52:54:00:00:00:01' }, n2: attributes });
  await server.ok('POST', '/osimages/el9', {
    provmethod: 'install',
    osvers: 'rhels9.6',
    osarch: 'x86_64',
    profile: 'compute',
  });
});
afterAll(() => server.stop());

const install = 'install rhels9.6-x86_64-compute';

it('nodes are told what to boot, and tell it', async () => {
  expect(await server.ok('GET', '/nodes/n1/bootstate')).toEqual({ n1: { bootstat: 'offline' } });
  await server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'el9', force: true });
  expect(await server.ok('GET', '/nodes/all/bootstate')).toEqual({
    n1: { bootstat: install },
    n2: { bootstat: 'offline' },
  });
  expect(await server.ok('GET', '/nodes/n1/attrs/currstate,provmethod,os')).toEqual({
    n1: { currstate: install, provmethod: 'el9', os: 'rhels9.6' },
  });
  const { json } = await server.call('GET', '/nodes/n1/bootstate', { root: '/xcatws' });
  expect(json).toEqual({ n1: { bootstat: install, bootstate: install } });
});

it.each([
  ['el9', /el9: pkgdir must also name the tree that the installer itself is in/],
  ['ram', /The image ram is not built: POST \/osimages\/ram\/instance \{"action":"gen"\} does it/],
])('%s, which cannot boot, is refused with what to do, unless forced', async (osimage, message) => {
  await server.ok('PUT', '/osimages/ram', {
    imagetype: 'linux',
    provmethod: 'netboot',
    osvers: 'rhels9.6',
    osarch: 'x86_64',
    profile: 'compute',
    rootimgdir: join(installdir, 'ram'),
  });
  await server.ok('PUT', '/nodes/n1/bootstate', { state: 'shell' });
  const refused = await server.call('PUT', '/nodes/n1/bootstate', { body: { osimage } });
  expect([refused.status, refused.json.error.join(' ')]).toEqual([403, expect.stringMatching(message)]);
  expect(refused.json.error.join(' ')).toContain('use force');
  expect(await server.ok('GET', '/nodes/n1/bootstate')).toEqual({ n1: { bootstat: 'shell' } });
  const forced = await server.call('PUT', '/nodes/n1/bootstate', { body: { osimage, force: true } });
  expect([forced.status, forced.headers['x-muster-note']]).toEqual([200, expect.stringMatching(message)]);
  expect((await server.ok('GET', '/nodes/n1/attrs/provmethod')).n1.provmethod).toBe(osimage);
  await server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'el9', force: true });
});

it.each([
  ['runcmd=true,osimage=nosuch', 'Later in the list, osimage=nosuch: Cannot find the OS image nosuch'],
  ['runcmd=true,osimage=el9', 'Later in the list, osimage=el9: el9: pkgdir must also name the tree'],
  ['osimage=el9,osimage=nosuch', 'nosuch'],
])('%s is refused as the image alone is, unless forced', async (state, message) => {
  const refused = await server.call('PUT', '/nodes/n1/bootstate', { body: { state } });
  expect([refused.status, refused.json.error.join(' ')]).toEqual([403, expect.stringContaining('use force')]);
  expect(await server.ok('GET', '/nodes/n1/attrs/currstate')).toEqual({ n1: { currstate: install } });
  const forced = await server.call('PUT', '/nodes/n1/bootstate', { body: { state, force: true } });
  expect([forced.status, forced.headers['x-muster-note']]).toEqual([200, expect.stringContaining(message)]);
  await server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'el9', force: true });
});

it('a disk that is none is refused for an image later in a list too', async () => {
  await server.ok('PUT', '/nodes/n1', { osvolume: 'sdz x' });
  const { status, json } = await server.call('PUT', '/nodes/n1/bootstate', {
    body: { state: 'runcmd=true,osimage=el9' },
  });
  expect([status, json.error.join(' ')]).toEqual([403, expect.stringMatching(/Later in the list.*osvolume/)]);
  await server.ok('PUT', '/nodes/n1', { osvolume: '' });
});

it('what cannot be is told by node, and the others are brought there', async () => {
  const { status, json } = await server.call('PUT', '/nodes/compute/bootstate', {
    body: { osimage: 'el9', force: true },
  });
  expect([status, json]).toEqual([
    expect.any(Number),
    { error: [expect.stringMatching(/^n2: No MAC address/)], errorcode: expect.any(Number) },
  ]);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(await server.ok('GET', '/nodes/n1/bootstate')).toEqual({ n1: { bootstat: install } });
  await server.ok('PUT', '/nodes/compute/bootstate', { state: 'boot' });
  expect(await server.ok('GET', '/nodes/compute/bootstate')).toEqual({
    n1: { bootstat: 'boot' },
    n2: { bootstat: 'boot' },
  });
});

it('a node whose only MAC address another node keeps is not set to what no machine would boot as it', async () => {
  await server.ok('PUT', '/nodes', { second: { groups: 'others', netboot: 'xnba', mac: '52:54:00:00:00:01' } });
  const sentence = /Another node keeps its MAC address 52:54:00:00:00:01/;
  const refused = await server.call('PUT', '/nodes/second/bootstate', { body: { osimage: 'el9' } });
  expect([refused.status, refused.json.error.join(' ')]).toEqual([403, expect.stringMatching(sentence)]);
  const forced = { body: { osimage: 'el9', force: true }, headers: { accept: 'application/x-ndjson' } };
  expect((await server.call('PUT', '/nodes/second/bootstate', forced)).text).toMatch(sentence);
  await server.ok('PUT', '/nodes/second', { mac: '52:54:00:00:00:01|52:54:00:00:00:09' });
  const other = await server.call('PUT', '/nodes/second/bootstate', forced);
  expect(other.text).toContain('"bootstate":"install');
  expect(other.text).not.toMatch(sentence);
  await server.ok('DELETE', '/nodes/second');
});

it.each([
  [{}, 400, /lacks the member "osimage" or "state"/],
  [{ osimage: 'el9', state: 'boot' }, 400, /not both/],
  [{ osimage: 'nosuch' }, 403, /Cannot find the OS image nosuch/],
  [{ state: 'bogus' }, 403, /Unknown state bogus requested/],
])('%j is refused, and nothing is changed', async (body, status, message) => {
  const before = await server.ok('GET', '/nodes/compute/bootstate');
  const reply = await server.call('PUT', '/nodes/compute/bootstate', { body });
  expect([reply.status, reply.json.error.join(' ')]).toEqual([status, expect.stringMatching(message)]);
  expect(await server.ok('GET', '/nodes/compute/bootstate')).toEqual(before);
});

it('who may set the boot state of some nodes sets that of no others', async () => {
  const token = await addUser(server, 'op');
  await server.ok('POST', '/policy/5', { name: 'op', commands: 'nodeset', noderange: 'n1', rule: 'allow' });
  const put = (range: string) => server.call('PUT', `/nodes/${range}/bootstate`, { token, body: { state: 'shell' } });
  expect((await put('n1')).status).toBe(200);
  expect((await put('n2')).status).toBe(403);
  expect((await put('n1,n2')).status).toBe(403);
  expect(await server.ok('GET', '/nodes/compute/bootstate')).toEqual({
    n1: { bootstat: 'shell' },
    n2: { bootstat: 'boot' },
  });
});

it('a rule for some nodes is enough for all that a boot state decides, and for nothing beyond these nodes', async () => {
  const token = await addUser(server, 'installer');
  await server.ok('POST', '/policy/6', { name: 'installer', commands: 'nodeset', noderange: 'n1', rule: 'allow' });
  const put = (headers: Record<string, string> = {}) =>
    server.call('PUT', '/nodes/n1/bootstate', { token, headers, body: { osimage: 'el9', force: true } });
  expect((await put({ 'x-expect-nodes': '2' })).status).toBe(417);
  expect((await put()).status).toBe(200);
  await server.ok('PUT', '/nodes/n1/bootstate', { state: 'boot' });
  await server.ok('PUT', '/nodes/n1', { provmethod: '' });
  await server.ok('PUT', '/nodes/n2', { provmethod: 'el9' });
  // Somebody else's rule would cover n1 as well.
  const others = { name: 'nobody', commands: 'rpower', noderange: 'nodetype.provmethod==el9', rule: 'allow' };
  await server.ok('POST', '/policy/7', others);
  const refused = await put();
  expect([refused.status, refused.json.error[0]]).toEqual([403, expect.stringContaining('may not run nodeset')]);
  expect(await server.ok('GET', '/nodes/n1/bootstate')).toEqual({ n1: { bootstat: 'boot' } });
  await server.ok('DELETE', '/policy/7');
  expect((await put()).status).toBe(200);
});
