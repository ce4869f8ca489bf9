import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { written } from '../harness/output.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { define, labNode } from './nodes.ts';

let server: TestServer;
let bmcs: BmcLab;
let services: RedfishLab;

beforeAll(async () => {
  [server, bmcs, services] = await Promise.all([
    startServer({
      environment: { MUSTER_HARDWARE_NETWORKS: '127.85.0.0/16,127.219.0.0/16', MUSTER_LOG_LEVEL: 'debug' },
    }),
    startBmcs({ count: 3, prefix: '127.85' }),
    startRedfish({ count: 3, prefix: '127.219', kinds: ['plain', 'sparse', 'openbmc'] }),
  ]);
});
afterAll(() => Promise.all([server?.stop(), bmcs?.stop(), services?.stop()]));

const find = (search: string, root = '/muster') => server.call('GET', `/services/bmcdiscover/${search}`, { root });
const check = (address: string, account: string, root = '/muster') =>
  server.call('GET', `/services/checkbmcauth/${address}/${account}`, { root });
const sessions = async () => (await bmcs.sessions(0)) + (await bmcs.sessions(1)) + (await bmcs.sessions(2));
const refusedLogins = async () => (await services.state(0)).refusedLogins + (await services.state(1)).refusedLogins;

/** Everything the server keeps and says about itself. */
async function everything(): Promise<string> {
  const notes = JSON.stringify(await server.ok('GET', '/tables/auditlog,eventlog/rows'));
  const files = readdirSync(server.data).filter((name) => name.startsWith('muster.sqlite'));
  return [notes, await written(server), ...files.map((name) => readFileSync(join(server.data, name), 'latin1'))].join(
    '\n',
  );
}

describe('bmcdiscover', () => {
  it('without an account finds what answers and logs in nowhere', async () => {
    const reply = await find('iprange=127.85.0.1-127.85.0.5;127.219.0.1-5');
    expect(reply.json).toEqual([
      ...[1, 2, 3].map((last) => `127.85.0.${last},,,,,mp,bmc,`),
      ...[1, 2, 3].map((last) => `127.219.0.${last},,,,,mp,redfish,`),
    ]);
    expect(await sessions()).toBe(0);
    expect((await services.state(0)).sessionsOpened).toBe(0);
    expect(await refusedLogins()).toBe(0);
  });

  it.each(['/muster', '/xcatws'])('with an account tells model, serial number and MAC, at %s', async (root) => {
    const reply = await find('iprange=127.85.0.1-4;127.219.0.1-127.219.0.4,bmcuser=admin,bmcpw=secret', root);
    expect(reply.json).toEqual([
      '127.85.0.1,7X00LAB,SN000000,admin,,mp,bmc,02:bc:00:00:00:00',
      '127.85.0.2,7X00LAB,SN000001,admin,,mp,bmc,02:bc:00:00:00:01',
      '127.85.0.3,7X00LAB,SN000002,admin,,mp,bmc,02:bc:00:00:00:02',
      expect.stringMatching(/^127\.219\.0\.1,LabServer 2000,SN000000,admin,,mp,redfish,([0-9a-f]{2}:){5}[0-9a-f]{2}$/i),
      expect.stringMatching(/^127\.219\.0\.2,LabServer 2000,SN000001,admin,,mp,redfish,([0-9a-f]{2}:){5}[0-9a-f]{2}$/i),
      expect.stringMatching(/^127\.219\.0\.3,LabServer 2000,SN000002,admin,,mp,redfish,([0-9a-f]{2}:){5}[0-9a-f]{2}$/i),
    ]);
  });

  it('takes a method', async () => {
    const range = 'iprange=127.85.0.3;127.219.0.1';
    expect((await find(`${range},method=ipmi`)).json).toEqual(['127.85.0.3,,,,,mp,bmc,']);
    expect((await find(`${range},method=redfish`)).json).toEqual(['127.219.0.1,,,,,mp,redfish,']);
    expect((await find(`${range},method=nmap`)).json).toHaveLength(2);
    const unknown = await find(`${range},method=carrier`);
    expect(errorOf(unknown)).toEqual([403, 1]);
    expect(unknown.json.error).toEqual(['"carrier" is not a method; known are ipmi, redfish, nmap (both).']);
  });

  it('notes a wrong account, tries no other, and shows no password', async () => {
    const before = await refusedLogins();
    const reply = await find('iprange=127.85.0.1;127.219.0.1,bmcuser=admin,bmcpw=Wr0ngHere');
    expect(reply.json).toEqual([
      expect.stringMatching(/^127\.85\.0\.1,,,admin,,mp,bmc,,the user "admin" or the password is wrong/),
      expect.stringMatching(/^127\.219\.0\.1,,,admin,,mp,redfish,,the user "admin" or the password is wrong/),
    ]);
    expect(await refusedLogins()).toBe(before + 1);
    expect(reply.text).not.toContain('Wr0ngHere');
    // There is no node yet, and so nothing to set at one.
    for (const line of reply.json as string[]) expect(line).not.toMatch(/\bnode\b|attribute|its BMC/);
  });

  it.each(['/muster', '/xcatws'])('takes a range with a slash as it is written, at %s', async (root) => {
    const lines = [1, 2].map(
      (last) => `127.85.0.${last},7X00LAB,SN00000${last - 1},admin,,mp,bmc,02:bc:00:00:00:0${last - 1}`,
    );
    for (const slash of ['/', '%2F'])
      expect((await find(`iprange=127.85.0.0${slash}30,bmcuser=admin,bmcpw=secret`, root)).json).toEqual(lines);
    expect((await find('method=ipmi,iprange=127.85.0.0%2F30;127.85.0.2/31', root)).json).toHaveLength(3);
  });

  it.each([
    'services/bmcdiscover/iprange=127.85.0.1/30,bmcpw=N0tFound/more',
    'services/bmcdiscovery/bmcuser=admin,bmcpw=N0tFound',
    'services/bmcdiscovery/bmcuser=admin,bmcpw%3DN0tFound',
    'services/bmcdiscovery/bmc%70w=N0tFound',
    'services/checkbmcauths/127.85.0.1/password=N0tFound',
  ])('repeats no password of a path that is not there: %s', async (path) => {
    const reply = await server.call('GET', `/${path}`);
    expect(errorOf(reply)).toEqual([404, 2]);
    expect(reply.json.error[0]).toMatch(/^There is nothing at \/muster\/services\/.*(pw|password)=xxxxxxxx\.$/);
    expect(reply.text).not.toContain('N0tFound');
  });

  it('finds nothing where nothing is, and says so with an empty list', async () => {
    const reply = await find('iprange=127.85.0.77');
    expect([reply.status, reply.json]).toEqual([200, []]);
  });
});

describe('checkbmcauth', () => {
  it('says whether an account is accepted', async () => {
    expect((await check('127.85.0.1', 'bmcuser=admin,bmcpw=secret')).json).toEqual([
      '127.85.0.1: the account is accepted.',
    ]);
    expect((await check('127.219.0.1', 'bmcuser=viewer,bmcpw=viewpw')).json).toEqual([
      '127.219.0.1: the account is accepted.',
    ]);
    const wrong = await check('127.219.0.1', 'bmcuser=admin,bmcpw=Wr0ngHere');
    expect(errorOf(wrong)).toEqual([403, 1]);
    expect(wrong.json.error).toEqual(['the user "admin" or the password is wrong.']);
    const nobody = await check('127.85.0.77', 'bmcuser=admin,bmcpw=secret');
    expect(errorOf(nobody)).toEqual([403, 1]);
    expect(nobody.json.error).toEqual(['nothing at 127.85.0.77 answers to IPMI or Redfish.']);
  });

  it('never asks with an account that cannot be', async () => {
    for (const account of ['bmcpw=secret', 'bmcuser=none,bmcpw=secret', `bmcuser=admin,bmcpw=${'x'.repeat(21)}`]) {
      const reply = await check('127.85.0.1', account);
      expect(errorOf(reply)).toEqual([403, 1]);
      expect(reply.json.error[0]).toMatch(/no user name|at most 20 bytes/);
    }
    expect((await find(`iprange=127.85.0.1,bmcuser=${'u'.repeat(17)},bmcpw=secret`)).json).toEqual([
      `127.85.0.1,,,${'u'.repeat(17)},,mp,bmc,,the user name for IPMI may have at most 16 bytes.`,
    ]);
  });

  it('takes a password with commas', async () => {
    const password = 'Co,mma,s=1';
    await define(server, { three: labNode('ipmi', bmcs.addresses[2]!) });
    await server.ok('PUT', '/nodes/three/sp/password', { userid: '5', username: 'carla', password });
    const accepted = ['127.85.0.3: the account is accepted.'];
    expect((await check('127.85.0.3', `bmcuser=carla,bmcpw=${password}`)).json).toEqual(accepted);
    expect((await check('127.85.0.3', `bmcpw=${password},bmcuser=carla`)).json).toEqual(accepted);
    expect((await check('127.85.0.3', encodeURIComponent(`bmcuser=carla,bmcpw=${password}`))).json).toEqual(accepted);
    expect((await find(`bmcpw=${password},bmcuser=carla,iprange=127.85.0.3`)).json).toEqual([
      '127.85.0.3,7X00LAB,SN000002,carla,,mp,bmc,02:bc:00:00:00:02',
    ]);
  });

  it('needs one address and a password', async () => {
    expect(errorOf(await check('127.85.0.1', 'bmcuser=admin'))).toEqual([400, 2]);
    expect(errorOf(await check('127.85.0.1', 'bmcuser=admin', '/xcatws'))).toEqual([403, 2]);
    expect(errorOf(await check('127.85.0.1-3', 'bmcuser=admin,bmcpw=secret'))).toEqual([403, 1]);
  });
});

describe('a search', () => {
  it('stays in the networks of BMCs', async () => {
    for (const reply of [
      await find('iprange=127.87.0.1,bmcuser=admin,bmcpw=Str4yPassword'),
      await find('iprange=127.85.0.1-3;10.0.0.1'),
      await check('192.0.2.1', 'bmcuser=admin,bmcpw=Str4yPassword'),
    ]) {
      expect(errorOf(reply)).toEqual([403, 1]);
      expect(reply.json.error[0]).toMatch(/is outside the networks of BMCs \(127\.85\.0\.0\/16, 127\.219/);
    }
  });

  it.each([
    ['nonsense', 403],
    ['iprange=', 400],
    ['bmcuser=admin,bmcpw=Mistyp3d', 400],
    ['iprange=127.85.0.1,bmcpassword=Mistyp3d', 403],
    ['iprange=127.85.0.1,rest,bmcuser=admin,bmcpw=Mistyp3d', 403],
    ['iprange=127.85.0.9-1', 403],
    ['iprange=127.85.0.300', 403],
    ['iprange=127.0.0.0%2F8', 403],
    ['iprange=bmc1.example', 403],
  ])('that is malformed is refused: %s', async (search, status) => {
    const reply = await find(search);
    expect(errorOf(reply)[0]).toBe(status);
    expect(reply.text).not.toContain('Mistyp3d');
  });

  it('needs the right to', async () => {
    const token = await addUser(server, 'somebody');
    const reply = await server.call('GET', '/services/bmcdiscover/iprange=127.85.0.1,bmcpw=F0rbidden', { token });
    expect(errorOf(reply)).toEqual([403, 2]);
    expect((await server.call('GET', '/services/bmcdiscover/iprange=127.85.0.1', { token: null })).status).toBe(401);
  });

  it('leaves no password anywhere', async () => {
    await find('iprange=127.85.0.1,bmcuser=admin,bmcpw=secret');
    await expect.poll(everything).toContain('--range 127.85.0.1');
    const all = await everything();
    for (const password of ['Wr0ngHere', 'Str4yPassword', 'Mistyp3d', 'F0rbidden', 'N0tFound', 'mma,s=1'])
      expect(all).not.toContain(password);
  });
});
