import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { writeLayout } from '../lab/oci/layout.ts';
import { type LabRegistry, labLogin, startRegistry } from '../lab/oci/registry.ts';
import { isBlob, type RoughRegistry, startRoughRegistry } from '../lab/oci/rough-registry.ts';
import { file } from '../lab/oci/tar.ts';

const osarch = process.arch === 'x64' ? 'x86_64' : 'aarch64';
const [data, installdir, scratch] = [temporaryDirectory(), temporaryDirectory(), temporaryDirectory()];
let registry: LabRegistry;
let rough: RoughRegistry;
let config: string;
let server: TestServer;

const layers = [[file('etc/os-release', 'ID=rocky\nVERSION_ID=9.4\n')], [file('etc/motd', 'hello\n')]];

beforeAll(async () => {
  mkdirSync(join(scratch, 'registry'));
  registry = await startRegistry(join(scratch, 'registry'));
  const ca = join(scratch, 'ca.pem');
  writeFileSync(ca, registry.ca);
  const named = [registry.https, registry.basic, registry.bearer, registry.tokens].map((each) => JSON.stringify(each));
  rough = await startRoughRegistry(scratch);
  config = `[images]\nregistries = [${named.join(', ')}]\ninsecureRegistries = ["${rough.address}"]\nregistryCa = ${JSON.stringify(ca)}\n`;
  server = await startServer({ data, config });
  await server.ok('PUT', '/globalconf/attrs/installdir', { installdir });
  writeLayout(join(scratch, 'layout'), layers);
  registry.push(`${join(scratch, 'layout')}:t`, 'private/rocky:9');
});
afterAll(async () => {
  await server?.stop();
  await registry?.stop();
  await rough?.stop();
  for (const directory of [data, installdir, scratch]) rmSync(directory, { recursive: true });
});

const make = (body: object, options: Parameters<TestServer['call']>[2] = {}) =>
  server.call('POST', '/osimages', { body, ...options });
const place = (name: string): string => join(installdir, 'netboot/rocky9.4', osarch, name);

/** Everything that the service keeps of what was asked. */
async function kept(): Promise<string> {
  const audit = await server.ok('GET', '/tables/auditlog/rows');
  return JSON.stringify(audit) + readFileSync(join(data, 'muster.sqlite'), 'latin1');
}

test('POST /osimages makes an image of a container in a registry', async () => {
  const reply = await make({ oci: `${registry.bearer}/private/rocky:9`, name: 'web', login: labLogin });
  expect([reply.status, reply.text]).toEqual([201, '']);
  expect(readFileSync(join(place('web'), 'rootimg/etc/motd'), 'utf8')).toBe('hello\n');
  expect((await server.ok('GET', '/osimages/web')).web).toEqual({
    imagetype: 'linux',
    osname: 'Linux',
    osvers: 'rocky9.4',
    osarch,
    profile: 'web',
    provmethod: 'netboot',
    rootimgdir: place('web'),
  });
  const run = await server.ok('GET', `/runs/${String(reply.headers['x-muster-run'])}`);
  expect(run.lines.join('\n')).toContain(`The image web of rocky9.4 for ${osarch} is in place`);
  // What it has staged is removed when it is answered.
  await expect.poll(() => readdirSync(join(data, 'blobs')).length).toBe(2);
  expect(await kept()).not.toContain(labLogin.password);
  const again = await make({ oci: `${registry.bearer}/private/rocky:9`, name: 'web', login: labLogin });
  expect(again.status).toBe(201);
  expect(again.headers['x-muster-revision']).toBe(reply.headers['x-muster-revision']);
});

test('the login of a registry is kept in the table passwd, sealed', async () => {
  const oci = `${registry.basic}/private/rocky:9`;
  const refused = await make({ oci, name: 'second' });
  expect(errorOf(refused)[0]).toBe(403);
  expect(refused.text).toContain(`key=registry:${registry.basic},username=NAME`);
  const row = `/tables/passwd/rows/key=registry:${registry.basic},username=${labLogin.username}`;
  await server.ok('PUT', row, { password: labLogin.password });
  expect((await make({ oci, name: 'second' })).status).toBe(201);
  expect(await kept()).not.toContain(labLogin.password);
});

test('POST /osimages makes an image of a container in a file', async () => {
  const layout = join(installdir, 'motd.oci');
  writeLayout(layout, layers);
  expect((await make({ file: layout }, { root: '/xcatws' })).status).toBe(201);
  expect(readFileSync(join(place('motd'), 'rootimg/etc/motd'), 'utf8')).toBe('hello\n');
  const named = await make({ file: layout, name: 'named', params: [{ profile: 'other' }, { osvers: 'rocky9.5' }] });
  expect(named.status).toBe(201);
  expect((await server.ok('GET', '/osimages/named')).named).toMatchObject({ profile: 'other', osvers: 'rocky9.5' });
});

test.each([
  [{ oci: 'reg.example/a:1' }, 'name must say what the image is to be called'],
  [{ oci: 'reg.example/a:1', name: 'a' }, 'Images are not pulled from reg.example'],
  [{ oci: 'debian:12', name: 'a' }, 'does not begin with the name of a registry'],
  [{ oci: 'reg.example/a:1', name: '../a' }, 'cannot be part of a path'],
  [{ oci: 'reg.example/a:1', name: 'a', params: [{ profile: '../..' }] }, 'cannot be part of a path'],
  [{ oci: 'reg.example/a:1', name: 'a', params: [{ arch: 'vax' }] }, 'The architecture "vax" is none of'],
  [
    { oci: 'reg.example/a:1', name: 'a', params: [{ what: 'x' }] },
    'There is no option "what" in params; known are arch',
  ],
  [{ file: '/etc/passwd.oci.tar' }, 'outside'],
  [{ file: '/etc/../etc/x.oci.tar' }, '".."'],
])('refuses %j', async (body, problem) => {
  const reply = await make(body);
  expect(reply.status).toBeGreaterThanOrEqual(400);
  expect(reply.text.replaceAll('\\"', '"')).toContain(problem);
});

test('an image of another architecture or of other make is not replaced', async () => {
  const layout = join(installdir, 'motd.oci');
  const other = await make({ file: layout, name: 'motd', params: [{ arch: 's390x' }] });
  expect(other.text).toContain(`exists with osarch ${osarch}`);
  await server.ok('POST', '/osimages/bare', {
    osvers: 'rocky9.4',
    osarch,
    profile: 'bare',
    provmethod: 'install',
    imagetype: 'linux',
  });
  expect((await make({ file: layout, name: 'bare' })).text).toContain('only images of netboot and statelite');
});

test('a kill in the middle leaves nothing half made, and the same command works afterwards', async () => {
  // Layers that are not kept yet.
  writeLayout(join(scratch, 'stalled'), [[...layers[0]!, file('etc/motd', 'stalled\n')]]);
  const body = { oci: `${rough.address}/stalled:t`, name: 'killed' };
  const arrived = new Promise<void>((resolve) => {
    rough.trick = (request, response, bytes) => {
      if (!isBlob(request) || bytes[0] !== 0x1f) return undefined;
      response.write(bytes.subarray(0, 50), () => resolve());
      return true;
    };
  });
  await make(body, { headers: { Prefer: 'respond-async' } });
  await arrived;
  const left = (): string[] =>
    [installdir, join(data, 'blobs')].flatMap((each) => readdirSync(each)).filter((name) => name.startsWith('.'));
  expect(left().length).toBeGreaterThan(0);
  server.child.kill('SIGKILL');
  await new Promise((resolve) => server.child.once('exit', resolve));
  server = await startServer({ data, config });
  await expect.poll(left).toEqual([]);
  rough.trick = undefined;
  expect((await make(body)).status).toBe(201);
  expect(readFileSync(join(place('killed'), 'rootimg/etc/motd'), 'utf8')).toBe('stalled\n');
});
