import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BootLab, startBootLab } from '../boot/boot-client.ts';
import { runHere } from './replay/run.ts';

let lab: BootLab;
let env: Record<string, string>;
const [mac, uuid] = ['52:54:00:00:03:01', '11111111-2222-4333-8444-555555555555'];
beforeAll(async () => {
  lab = await startBootLab();
  env = { HOME: lab.server.data, MUSTER_SOCKET: join(lab.server.data, 'muster.sock') };
  await lab.server.ok('POST', '/networks/boot', { net: '127.0.0.0', mask: '255.0.0.0' });
  await lab.server.ok('PUT', '/globalconf/attrs/discovery', { discovery: 'yes' });
  await lab.server.ok('POST', '/nodes/n1,n2', { groups: 'all', netboot: 'xnba', arch: 'x86_64' });
});
afterAll(() => lab.stop());

const run = (...argv: string[]) => runHere({ argv, stdin: '', env });
const report = () =>
  lab.from('127.0.1.1', '/boot/discovery', {
    method: 'POST',
    body: JSON.stringify({ macs: [{ name: 'eth0', mac }], boot: mac, uuid, serial: 'SN9', model: 'E1' }),
  });

it('lists machines that wait, makes one a node, and lists it by how that came', async () => {
  await report();
  expect((await run('nodediscoverls', '-t', 'undef')).stdout).toMatch(
    new RegExp(`^Discovered 1 node\\.\nUUID +NODE +METHOD +MTM +SERIAL\n${uuid} +undef +undef +E1 +SN9\n$`, 'i'),
  );
  expect((await run('nodediscoverls', '-t', 'manual')).stdout).toBe('Discovered 0 node.\n');
  expect(await run('nodediscoverdef', '-u', uuid, '-n', 'n1', '--dry-run')).toMatchObject({ code: 0 });
  expect(await run('nodediscoverdef', '-u', uuid, '-n', 'n1')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Defined \[\S+\] to node n1\.\n$/),
  });
  expect(await lab.server.ok('GET', '/nodes/n1/attrs/mac,serial,mtm')).toEqual({
    n1: { mac, serial: 'SN9', mtm: 'E1' },
  });
  expect((await run('nodediscoverls', '-t', 'manual', '-l')).stdout).toMatch(/^ {3}method=manual$/m);
  expect((await run('nodediscoverls', '-u', uuid)).stdout).toContain('n1');
  await report();
  expect(await lab.server.ok('GET', '/discovery')).toMatchObject({ unmatched: [] });
});

it('refuses a node that has its machine, a machine that nobody knows, and a kind that is none', async () => {
  expect(await run('nodediscoverdef', '-u', 'nosuch', '-n', 'n2')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('nodediscoverls -t undef lists those that do.'),
  });
  await lab.from('127.0.1.2', '/boot/discovery', {
    method: 'POST',
    body: JSON.stringify({ macs: [{ name: 'eth0', mac: '52:54:00:00:03:02' }], boot: '52:54:00:00:03:02' }),
  });
  expect(await run('nodediscoverdef', '-u', 'mac-525400000302', '-n', 'n1')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`n1 is the machine with the MAC ${mac} already`),
  });
  expect(await run('nodediscoverls', '-t', 'nosuch')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('-t is one of seq, switch'),
  });
});

it('removes records of one kind, and leaves the node as it is', async () => {
  expect(await run('nodediscoverdef', '-r', '-t', 'seq')).toMatchObject({ code: 0 });
  expect((await run('nodediscoverls', '-t', 'manual')).stdout).toContain('Discovered 1 node.');
  expect(await run('nodediscoverdef', '-r', '-u', uuid)).toMatchObject({
    code: 0,
    stdout: 'Removing discovery entries finished.\n',
  });
  expect((await run('nodediscoverls', '-t', 'manual')).stdout).toBe('Discovered 0 node.\n');
  expect(await lab.server.ok('GET', '/nodes/n1/attrs/mac')).toEqual({ n1: { mac } });
  expect(await run('nodediscoverdef', '-r', '-u', uuid)).toMatchObject({ code: 1 });
});
