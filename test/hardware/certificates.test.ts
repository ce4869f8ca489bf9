import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { environmentFor, muster, program } from '../cli/command-line.ts';
import { errorOf } from '../harness/errors.ts';
import { written } from '../harness/output.ts';
import { queryOutside } from '../harness/raw-sqlite.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import type { RedfishFaults } from '../lab/redfish/protocol.ts';
import { define, labNode } from './nodes.ts';

const data = temporaryDirectory();
const home = temporaryDirectory();
let server: TestServer;
let services: RedfishLab;

/** Makes requests; has none to make, and takes a key along; OpenBMC; takes certificates without a CertificateService. */
const places = { rf: 0, keyless: 1, ob: 2, posted: 3 } as const;
type Name = keyof typeof places;
const names = Object.keys(places) as Name[];
const config = '[hardware]\ncertificateTimeout = 4\n';

beforeAll(async () => {
  services = await startRedfish({ count: 4, prefix: '127.136', kinds: ['plain', 'sparse', 'openbmc', 'enclosure'] });
  server = await startServer({ data, config });
  await define(
    server,
    Object.fromEntries(
      names.map((name) => [name, labNode(name === 'ob' ? 'openbmc' : 'redfish', services.addresses[places[name]]!)]),
    ),
  );
});
afterAll(() => Promise.all([server?.stop(), services?.stop()]));

const all: RedfishFaults = { at: false, dead: false, certificates: {}, delay: 0 };
afterEach(async () => {
  for (const index of Object.values(places)) await services.fault(index, all);
});

const renew = (range: string, body: object = {}, more: object = {}) =>
  server.call('POST', `/nodes/${range}/sp/certificates`, { body, ...more });
const install = (range: string, certificates: object, more: object = {}) =>
  server.call('PUT', `/nodes/${range}/sp/certificates`, { body: { certificates }, ...more });
const request = (range: string, body: object = {}) =>
  server.call('POST', `/nodes/${range}/sp/certificaterequests`, { body });
const list = (range: string) => server.ok('GET', `/nodes/${range}/sp/certificates`);
const served = (name: Name): Promise<X509Certificate> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: services.addresses[places[name]]!, port: 443, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()!);
      socket.destroy();
    });
    socket.once('error', reject);
  });
const pending = async (): Promise<object[]> =>
  (await server.ok('GET', '/tables/bmccertificate/rows')).bmccertificate ?? [];
const pinned = async (name: Name): Promise<string> =>
  (await server.ok('GET', `/tables/spcert/rows/node=${name}`)).spcert[0].fingerprint;
const authority = async (): Promise<X509Certificate> =>
  new X509Certificate((await server.ok('GET', '/bmcauthority')).certificate);
const reaches = async (name: Name): Promise<boolean> =>
  (await server.call('GET', `/nodes/${name}/sp/accounts`)).status === 200;

describe('renewing', () => {
  it.each(names)('%s shows a certificate of the authority for BMCs, for the address of the BMC', async (name) => {
    const reply = await renew(name);
    expect([reply.status, reply.json]).toEqual([
      201,
      { [name]: { certificate: 'replaced', ends: expect.stringMatching(/^20\d\d-/) } },
    ]);
    const shown = await served(name);
    const ca = await authority();
    expect(shown.checkIssued(ca) && shown.verify(ca.publicKey)).toBe(true);
    expect(shown.subjectAltName).toBe(`IP Address:${services.addresses[places[name]]}`);
    expect([await pinned(name), await pending(), await reaches(name)]).toEqual([shown.fingerprint256, [], true]);
    expect((await list(name))[name].shown).toMatchObject({ fingerprint: shown.fingerprint256 });
    expect((await services.state(places[name])).missed).toEqual([]);
  });

  it('leaves those that end later, and replaces each BMC once', async () => {
    await define(server, { rf2: labNode('redfish', services.addresses[0]!) });
    const before = await served('rf');
    expect((await renew('rf,rf2', { within: 30 })).json).toMatchObject({
      rf: { certificate: 'kept' },
      rf2: { certificate: 'kept' },
    });
    expect((await served('rf')).fingerprint256).toBe(before.fingerprint256);
    expect((await renew('rf', { within: 3_000 })).json).toMatchObject({ rf: { certificate: 'replaced' } });
    // It counts for the other node behind the BMC too.
    expect((await server.call('GET', '/nodes/rf2/sp/accounts')).json).toEqual({ rf2: expect.anything() });
    await server.ok('DELETE', '/nodes/rf2');
  });

  it('is only tried in a dry run', async () => {
    const before = await served('rf');
    expect((await renew('rf', {}, { query: { dryRun: 1 } })).json.nodes).toBe(1);
    expect((await served('rf')).fingerprint256).toBe(before.fingerprint256);
  });

  it('names the BMC by its host name too, and by that with the domain', async () => {
    const local = await startRedfish({ count: 1, prefix: '127.0', port: 4433, kinds: ['plain'] });
    await server.ok('PUT', '/tables/site/rows/key=domain', { value: 'cluster.test' });
    await define(server, { named: labNode('redfish', 'localhost', { bmcport: '4433' }) });
    expect((await renew('named')).json).toMatchObject({ named: { certificate: 'replaced' } });
    expect((await list('named')).named.shown.names).toBe('localhost, localhost.cluster.test, 127.0.0.1');
    await server.ok('DELETE', '/nodes/named');
    await local.stop();
  });

  it('needs more than the right to a node', async () => {
    const few = { token: await addUser(server, 'certifier') };
    const rule = { name: 'certifier', rule: 'allow', commands: 'bmccertify' };
    await server.ok('PUT', '/tables/policy/rows/priority=6', { ...rule, noderange: 'rf' });
    const before = await served('rf');
    const reply = await renew('rf', {}, few);
    expect([errorOf(reply), reply.json.error]).toEqual([
      [403, 2],
      [expect.stringMatching(/decides whom muster trusts/)],
    ]);
    expect(errorOf(await renew('ob', {}, few))).toEqual([403, 2]);
    expect(errorOf(await install('rf', { rf: 'x' }, few))).toEqual([403, 2]);
    expect((await served('rf')).fingerprint256).toBe(before.fingerprint256);
    await server.ok('PUT', '/tables/policy/rows/priority=6', { ...rule, noderange: '' });
    expect((await renew('rf', {}, few)).status).toBe(201);
    await server.ok('DELETE', '/tables/policy/rows/priority=6');
  });

  it.each([
    [{ within: -1 }, 400],
    [{ within: 'soon' }, 400],
    [{ days: 3 }, 400],
  ])('with the body %j is refused', async (body, status) => {
    expect((await renew('rf', body)).status).toBe(status);
  });

  it('leaves no private key in replies, logs and the journal', async () => {
    const reply = await renew('keyless');
    const table = await server.call('GET', '/tables/bmcauthority/rows');
    const stored = ['auditlog', 'muster_journal', 'bmcauthority'].map((name) =>
      queryOutside(join(data, 'muster.sqlite'), `select * from ${name}`),
    );
    expect(table.json.bmcauthority[0].privatekey).toBe('********');
    for (const text of [reply.text, table.text, JSON.stringify(stored), await written(server)])
      expect(text).not.toMatch(/PRIVATE KEY/);
    await services.fault(places.keyless, { certificates: { refuses: true } });
    const refused = await renew('keyless');
    expect(refused.json.error[0]).toMatch(/is not wanted/);
    expect(refused.text).not.toMatch(/PRIVATE KEY-----\s*[A-Za-z0-9+/]{8}/);
  });
});

describe('a BMC', () => {
  it.each([
    ['foreign', /asks for the name "muster\.example\.com", and its names are 127\.136/],
    ['weak', /RSA key has 1024 bits/],
    ['giant', /characters|sent none/],
    ['garbage', /not in PEM form/],
    ['forged', /signature is wrong/],
  ] as const)('whose request is %s keeps its certificate', async (requests, words) => {
    const before = await served('rf');
    await services.fault(places.rf, { certificates: { requests } });
    for (const reply of [await renew('rf'), await request('rf')])
      expect([reply.status >= 400, reply.json.error]).toEqual([true, [expect.stringMatching(words)]]);
    expect([(await served('rf')).fingerprint256, await pending(), await reaches('rf')]).toEqual([
      before.fingerprint256,
      [],
      true,
    ]);
  });

  it('that accepts a certificate and drops it is said so', async () => {
    const before = await served('rf');
    await services.fault(places.rf, { certificates: { installs: 'never' } });
    expect((await renew('rf')).json.error).toEqual([
      expect.stringMatching(/^rf: its BMC accepted a certificate, but has kept the one before/),
    ]);
    expect([(await served('rf')).fingerprint256, await pending(), await reaches('rf')]).toEqual([
      before.fingerprint256,
      [],
      true,
    ]);
  });

  it('that shows it after a restart only is said so, and is reached before and after', async () => {
    await services.fault(places.ob, { certificates: { installs: 'after a restart' } });
    expect((await renew('ob')).json.ob.certificate).toMatch(/restart the BMC/);
    expect([(await pending()).length, await reaches('ob')]).toEqual([1, true]);
    expect((await list('ob')).ob.others).toHaveLength(1);
    const before = await served('ob');
    await server.ok('PUT', '/nodes/ob/power', { action: 'bmcreboot' });
    await vi.waitFor(async () => expect((await served('ob')).fingerprint256).not.toBe(before.fingerprint256));
    expect([await reaches('ob'), await pending()]).toEqual([true, []]);
    expect(await pinned('ob')).toBe((await served('ob')).fingerprint256);
  });

  it.each(['before', 'after'] as const)('that dies %s it has replaced it is reached again', async (when) => {
    await services.fault(places.rf, { at: { method: 'POST', path: 'ReplaceCertificate', when, does: 'die' } });
    expect((await renew('rf')).json.error).toEqual([
      expect.stringMatching(
        /not known whether its BMC has the new certificate.*accepts the one before and the new one/,
      ),
    ]);
    expect(await pending()).toHaveLength(1);
    await services.fault(places.rf, all);
    await vi.waitFor(async () => expect(await reaches('rf')).toBe(true), { timeout: 60_000, interval: 500 });
    expect((await renew('rf')).json.rf.certificate).toBe('replaced');
    expect(await pending()).toEqual([]);
  });

  it('that shows a third certificate is sent nothing', async () => {
    await services.fault(places.posted, {
      certificates: { installs: 'never' },
      at: { method: 'POST', path: 'Certificates', when: 'after', does: 'hold' },
    });
    const renewing = renew('posted');
    await vi.waitFor(async () => expect((await services.state(places.posted)).held).toBe(1), { timeout: 30_000 });
    await services.fault(places.posted, { newCertificate: true });
    expect((await renewing).json.error[0]).toMatch(/neither the new one nor the one before/);
    expect(await reaches('posted')).toBe(false);
    await server.ok('DELETE', '/tables/spcert/rows/node=posted');
    expect(await reaches('posted')).toBe(true);
  });
});

describe('a certificate of the site', () => {
  const directory = temporaryDirectory();
  const at = (name: string): string => join(directory, name);
  const openssl = (...words: string[]) => execFileSync('openssl', words, { cwd: directory, stdio: 'pipe' });
  const sign = (node: string, subjects: string): string => {
    writeFileSync(at('names'), `subjectAltName=${subjects}\n`);
    openssl(
      'x509',
      '-req',
      '-in',
      `${node}.csr`,
      '-CA',
      'ca.pem',
      '-CAkey',
      'ca.key',
      '-days',
      '90',
      '-extfile',
      'names',
      '-out',
      `${node}.pem`,
    );
    return readFileSync(at(`${node}.pem`), 'utf8');
  };
  const cli = (...words: string[]) => program(muster, ['bmc', ...words], environmentFor(server, home));

  beforeAll(() => {
    openssl(
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      'ca.key',
      '-out',
      'ca.pem',
      '-subj',
      '/CN=Site CA',
      '-days',
      '30',
    );
  });

  it('is requested, signed by openssl, and installed on the command line', async () => {
    const address = services.addresses[0]!;
    expect(await cli('request', 'rf', '--directory', directory, '--subject', 'O=Example,OU=HPC,C=DE')).toMatchObject({
      code: 0,
      stdout: `rf: wrote ${at('rf.csr')}\n`,
    });
    expect(openssl('req', '-in', 'rf.csr', '-noout', '-text', '-verify').toString()).toContain(`IP Address:${address}`);
    sign('rf', `IP:${address}`);
    expect(await cli('install', 'rf', '--directory', directory, '--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^rf: replaced, ends 20/),
    });
    expect((await served('rf')).issuer).toBe('CN=Site CA');
    const shown = await cli('certificates', 'rf');
    expect(shown.stdout).toMatch(new RegExp(`^rf: ends 20.*, for ${address}, .*signed by CN=Site CA\n$`));
    expect(await cli('install', 'rf', '--directory', at('none'), '--yes')).toMatchObject({ code: 2 });
    expect(await cli('renew', 'rf', '--within', 'soon')).toMatchObject({ code: 2 });
    expect(await cli('certificates', 'rf', '--within', '3')).toMatchObject({ code: 2 });
  });

  it.each([
    ['for another address', 'IP:10.9.9.9', /is not for 127\.136\..*its names are 10\.9\.9\.9/],
    ['for a name only', 'DNS:bmc1.example', /is not for 127\.136/],
  ])('%s is refused', async (_what, subjects, words) => {
    writeFileSync(at('rf.csr'), (await request('rf')).json.rf.request);
    const before = await served('rf');
    expect((await install('rf', { rf: sign('rf', subjects) })).json.error[0]).toMatch(words);
    expect((await served('rf')).fingerprint256).toBe(before.fingerprint256);
  });

  it('that is not for the key of the BMC, or is none, is refused', async () => {
    const pem = sign('rf', `IP:${services.addresses[2]}`);
    expect((await install('ob', { ob: pem })).json.error[0]).toMatch(/cannot be installed/);
    expect((await install('rf', { rf: 'nonsense' })).json.error[0]).toMatch(/not a certificate in PEM form/);
    expect((await install('rf', { ob: pem })).json.error).toEqual([
      'There is a certificate for "ob", which is none of these nodes.',
    ]);
    expect((await install('rf,ob', { ob: 'nonsense' })).json.error).toContain('rf: no certificate is given for it.');
    const key = readFileSync(at('ca.key'), 'utf8');
    const withKey = await install('rf', { rf: pem + key });
    expect(withKey.json.error[0]).toMatch(/has a private key/);
    expect([await reaches('rf'), await reaches('ob'), await pending()]).toEqual([true, true, []]);
  });

  it('of a BMC that makes no requests is said so', async () => {
    expect((await request('keyless')).json.error[0]).toMatch(/cannot request certificates.*POST \/nodes/);
    expect((await request('rf', { subject: 'X=1' })).json.error).toEqual([
      expect.stringMatching(/no part of a subject/),
    ]);
  });

  it('is all that muster believes with hardware.ca, and its own is refused before it is sent', async () => {
    // Until now the BMC shows a certificate of this authority.
    writeFileSync(at('rf.csr'), (await request('rf')).json.rf.request);
    expect((await install('rf', { rf: sign('rf', `IP:${services.addresses[0]}`) })).status).toBe(200);
    await server.stop();
    server = await startServer({ data, config: `${config}ca = "${at('ca.pem')}"\n` });
    const before = await served('rf');
    expect((await renew('rf')).json.error[0]).toMatch(/only the authorities in the file of the setting hardware\.ca/);
    openssl(
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      'x.key',
      '-out',
      'x.pem',
      '-subj',
      '/CN=X',
      '-addext',
      `subjectAltName=IP:${services.addresses[0]}`,
      '-addext',
      'basicConstraints=CA:FALSE',
    );
    expect((await install('rf', { rf: readFileSync(at('x.pem'), 'utf8') })).json.error[0]).toMatch(
      /does not lead to an authority/,
    );
    expect([(await served('rf')).fingerprint256, await reaches('rf')]).toEqual([before.fingerprint256, true]);
    writeFileSync(at('rf.csr'), (await request('rf')).json.rf.request);
    expect((await install('rf', { rf: sign('rf', `IP:${services.addresses[0]}`) })).json.rf.certificate).toBe(
      'replaced',
    );
    writeFileSync(at('both.pem'), `${readFileSync(at('ca.pem'), 'utf8')}${(await authority()).toString()}`);
    await server.stop();
    server = await startServer({ data, config: `${config}ca = "${at('both.pem')}"\n` });
    expect((await renew('rf')).json.rf.certificate).toBe('replaced');
    expect(await reaches('rf')).toBe(true);
    await server.stop();
    server = await startServer({ data, config });
    expect(await reaches('rf')).toBe(true);
  });
});

describe('a killed muster', () => {
  it.each(['before', 'after'] as const)('%s the BMC has replaced the certificate reaches it again', async (when) => {
    await services.fault(places.ob, { at: { method: 'POST', path: 'ReplaceCertificate', when, does: 'hold' } });
    const renewing = renew('ob').catch(() => undefined);
    await vi.waitFor(async () => expect((await services.state(places.ob)).held).toBe(1), { timeout: 30_000 });
    await server.kill();
    await renewing;
    await services.fault(places.ob, all);
    server = await startServer({ data, config });
    expect(await reaches('ob')).toBe(true);
    expect((await renew('ob')).json.ob.certificate).toBe('replaced');
    expect([await pending(), await pinned('ob')]).toEqual([[], (await served('ob')).fingerprint256]);
  });
});
