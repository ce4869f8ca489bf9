import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { define, labNode, labNodes } from '../hardware/nodes.ts';
import { addUser } from '../harness/users.ts';
import { errorOf } from '../harness/errors.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { runHere } from './replay/run.ts';

let server: TestServer;
let lab: RedfishLab;
let bmcs: BmcLab;
let file: string;
beforeAll(async () => {
  const kinds = ['plain', 'plain', 'plain', 'plain', 'openbmc'] as const;
  [server, bmcs, lab] = await Promise.all([
    startServer(),
    startBmcs({ count: 2, prefix: '127.149', serial: (typed) => typed }),
    startRedfish({
      count: 5,
      prefix: '127.119',
      kinds,
      makers: ['dell', 'dell', 'dell', 'hpe', 'dell'],
      powerDelay: 10,
    }),
  ]);
  await define(server, {
    ...labNodes('d', 'redfish', lab.addresses.slice(0, 3)),
    h1: labNode('redfish', lab.addresses[3]!),
    o1: labNode('openbmc', lab.addresses[4]!),
    ...labNodes('i', 'ipmi', bmcs.addresses),
  });
  file = join(server.data, 'profile.yaml');
}, 300_000);
afterAll(() => Promise.all([server?.stop(), lab?.stop(), bmcs?.stop()]));

const run = (...argv: string[]) =>
  runHere({ argv, stdin: '', env: { HOME: server.data, MUSTER_SOCKET: join(server.data, 'muster.sock') } });
const bios = (...argv: string[]) => run('bios', ...argv);
const said = (stdout: string) => ({ code: 0, stdout, stderr: '' });
const changes = async (index: number) => (await lab.state(index)).changes.length;

/** Defaults, and nothing that waits. */
beforeEach(async () => {
  for (const node of ['d1', 'd2', 'd3', 'h1']) {
    await server.ok('POST', `/nodes/${node}/bios`, { action: 'reset' });
    await server.ok('PUT', `/nodes/${node}/power`, { action: 'boot' });
  }
});

describe('muster bios', () => {
  it('reads settings, and what they take', async () => {
    expect(await bios('get', 'd1', 'BootMode')).toEqual(said('d1: BootMode=Uefi\n'));
    expect((await bios('get', 'd1')).stdout).toContain('d1: SysProfile=PerfPerWattOptimizedDapc\n');
    expect(await bios('get', 'h1', 'AsrTimeoutMinutes', '--allowed')).toEqual(
      said('h1: AsrTimeoutMinutes=10; takes a whole number from 5 to 30 in steps of 5\n'),
    );
    expect(await bios('pending', 'd1')).toEqual(said('d1: nothing waits for a restart\n'));
  });

  it('says in words of its own what hardware cannot do; commands of xCAT keep the words of xCAT', async () => {
    const { code, stderr } = await bios('get', 'i1');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^i1: \[.*\]: Error: .*mgt "ipmi" has no settings of the BIOS; only Redfish has them\.\n$/);
    expect((await run('rflash', 'i1', '-l')).stderr).toContain('Unable to identify plugin for this command');
    const short = run('bmc', 'rotate', 'i1', '--length', '5');
    expect(await short).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--length takes a number from 12 to 64'),
    });
  });

  it('sets them, and says what waits for a restart', async () => {
    expect(await bios('set', 'd1', 'BootMode=Bios', 'LogicalProc=Enabled')).toEqual(
      said('d1: BootMode=Bios waits for the next restart\nd1: LogicalProc=Enabled\n'),
    );
    expect(await bios('pending', 'd1')).toEqual(said('d1: BootMode=Bios\n'));
    expect((await bios('get', 'd1', 'BootMode')).stdout).toBe('d1: BootMode=Uefi (Bios after the next restart)\n');
    await run('rpower', 'd1', 'boot');
    expect(await bios('get', 'd1', 'BootMode')).toEqual(said('d1: BootMode=Bios\n'));
    expect(await bios('reset', 'd1')).toEqual(
      said('d1: All settings return to their defaults when the machine restarts.\n'),
    );
  });

  it('has one result for each node', async () => {
    const { code, stdout, stderr } = await bios('set', 'd1,h1,o1,i1', 'BootMode=Bios');
    expect([code, stdout]).toEqual([1, 'd1: BootMode=Bios waits for the next restart\n']);
    const lines = stderr.trimEnd().split('\n').toSorted();
    expect(lines).toEqual([
      expect.stringMatching(/^h1: .*BootMode cannot be "Bios": it takes Uefi, LegacyBios\. /),
      expect.stringMatching(/^i1: /),
      expect.stringMatching(/^o1: .*its BMC does not show the settings of its BIOS/),
    ]);
  });

  it('shows with a dry run whom it would be sent to, and sends nothing', async () => {
    const before = await changes(0);
    expect(await bios('set', 'd1', 'BootMode=Bios', '--dry-run')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^d1: dry run mgt=redfish address=/),
    });
    expect(await changes(0)).toBe(before);
  });

  it('folds what differs from another node', async () => {
    await server.ok('PUT', '/nodes/d2,d3/bios', { settings: { SysProfile: 'Custom', AcPwrRcvryUserDelay: 120 } });
    expect(blocksIn((await bios('diff', 'd1-d3', '--against', 'd1')).stdout)).toEqual([
      block('d1', 'as d1'),
      block('d[2-3]', 'AcPwrRcvryUserDelay: 120, d1 has 60\nSysProfile: Custom, d1 has PerfPerWattOptimizedDapc'),
    ]);
    const data = JSON.parse((await bios('diff', 'd2', '--against', 'd1', '--format', 'json')).stdout);
    expect(data).toEqual([{ node: 'd2', value: expect.arrayContaining(['AcPwrRcvryUserDelay: 120, d1 has 60']) }]);
    expect(await bios('diff', 'd2', '--against', 'd1-d3')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/"d1-d3" is 3 nodes; name one/),
    });
  });
});

const rule = '='.repeat(36);
/** They come in the order in which nodes answer. */
const blocksIn = (stdout: string): string[] =>
  stdout.split(/(?<=\n\n)/).toSorted((a, b) => (a.split('\n')[1]! < b.split('\n')[1]! ? -1 : 1));
const block = (names: string, text: string): string => `${rule}\n${names}\n${rule}\n${text}\n\n`;

describe('profiles', () => {
  it('go from one node to others, and a dry run shows what they would change', async () => {
    await bios('set', 'd1', 'BootMode=Bios', 'AssetTag=rack7');
    const { stdout } = await bios('save', 'd1');
    expect(stdout).toBe(`bios:
  BootMode: Bios
  LogicalProc: Enabled
  SysProfile: PerfPerWattOptimizedDapc
  AcPwrRcvryUserDelay: "60"
bmc:
  netmask: 255.0.0.0
  gateway: 127.0.0.1
  vlan: "off"
`);
    writeFileSync(file, `${stdout.replace(/bmc:.*/s, '')}bmc:\n  ntpservers: 10.1.0.1\n`);
    const before = await changes(1);
    expect(blocksIn((await bios('apply', file, 'd1-d3', '--dry-run')).stdout)).toEqual([
      block('d1', 'bmc ntpservers: (empty) -> 10.1.0.1'),
      block('d[2-3]', 'BootMode: Uefi -> Bios\nbmc ntpservers: (empty) -> 10.1.0.1'),
    ]);
    expect(await changes(1)).toBe(before);
    const applied = await bios('apply', file, 'd2-d3', '--fold');
    expect(applied.code).toBe(0);
    expect(applied.stdout).toContain('BootMode=Bios waits for the next restart');
    expect((await run('bios', 'diff', 'd2-d3', '--against', 'd1')).stdout).toBe(block('d[2-3]', 'as d1'));
    expect(await server.ok('GET', '/nodes/d2/sp/ntpservers')).toEqual({ d2: { 'BMC NTP Servers': '10.1.0.1' } });
    expect((await bios('apply', file, 'd2', '--dry-run')).stdout).toBe(block('d2', 'nothing would change'));
  });

  it('of IPMI BMCs have what these know, with serial over LAN and alerts', async () => {
    await server.ok('PUT', '/nodes/i1/sp/solenabled', { solenabled: 'on', solbitrate: '19200', alert: 'on' });
    const { stdout } = await bios('save', 'i1');
    expect(stdout).toMatch(/^bmc:\n {2}netmask: /);
    expect(stdout).toContain('  alert: enabled\n  solenabled: enabled\n  solbitrate: "19200"\n');
    writeFileSync(file, stdout);
    await server.ok('PUT', '/nodes/i2/sp/solenabled', { solenabled: 'off', solbitrate: '9600', alert: 'off' });
    expect((await bios('apply', file, 'i2', '--dry-run')).stdout).toBe(
      block('i2', 'bmc alert: disabled -> enabled\nbmc solbitrate: 9600 -> 19200\nbmc solenabled: disabled -> enabled'),
    );
    const applied = await bios('apply', file, 'i1-i2');
    expect([applied.code, applied.stderr]).toEqual([0, '']);
    expect(await server.ok('GET', '/nodes/i2/sp/solbitrate')).toEqual({ i2: { 'Serial over LAN bit rate': '19200' } });
    expect((await bios('apply', file, 'i2', '--dry-run')).stdout).toBe(block('i2', 'nothing would change'));
  });

  const wrong: readonly [string, RegExp][] = [
    ['bios: [a]', /Below bios names with their values are expected/],
    ['boot:\n  a: b', /"boot" is not a section of a profile; there are bios and bmc/],
    ['bmc:\n  gatewy: x', /"gatewy" is not a setting that BMCs can have in common; .* Did you mean "gateway"\?/],
    ['bmc:\n  password: x', /"password" is not a setting that BMCs can have in common/],
    ['bios:\n  a:\n    b: c', /a must be a text, a number, true or false/],
    ['bios: {', /line 1|flow/i],
    ['{"bios":', /JSON/],
    ['', /has no settings: write them below bios: or bmc:/],
  ];
  it.each(wrong)('%j is refused before anything is sent', async (text, sentence) => {
    writeFileSync(file, text);
    const before = (await lab.state(0)).requests.length;
    const { code, stderr } = await bios('apply', file, 'd1');
    expect([code, stderr]).toEqual([2, expect.stringMatching(sentence)]);
    expect((await lab.state(0)).requests.length).toBe(before);
  });
});

describe('wrong calls', () => {
  const calls: readonly [readonly string[], RegExp][] = [
    [[], /Say what to do/],
    [['get'], /Say what to do/],
    [['frob', 'd1'], /Say what to do/],
    [['constructor', 'd1'], /Say what to do/],
    [['set', 'd1'], /Say what to do/],
    [['set', 'd1', 'BootMode'], /"BootMode" sets nothing; write NAME=VALUE/],
    [['set', 'd1', 'A=1', 'A=2'], /A= was given twice; give it once/],
    [['get', 'd1', ''], /Say what to do/],
    [['reset', 'd1', 'now'], /Say what to do/],
    [['diff', 'd1'], /--against NODE/],
    [['get', 'd1', '--now'], /--now means nothing to muster bios get/],
    [['apply', '/nowhere', 'd1'], /\/nowhere cannot be read/],
    [['get', 'd1', '--frob'], /--frob|frob/],
  ];
  it.each(calls)('%j', async (words, sentence) => {
    const { code, stdout, stderr } = await bios(...words);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(sentence)]);
  });
});

describe('by REST', () => {
  const put = (body: unknown) => server.call('PUT', '/nodes/d1/bios', { body });

  it('numbers and truth values are taken as they are written', async () => {
    expect(
      await server.ok('PUT', '/nodes/d1/bios', { settings: { AcPwrRcvryUserDelay: 90 }, when: 'restart' }),
    ).toEqual({
      d1: { current: { AcPwrRcvryUserDelay: '60' }, pending: { AcPwrRcvryUserDelay: '90' } },
    });
  });

  it.each([
    [{}, 400],
    [{ settings: {} }, 403],
    [{ settings: { BootMode: ['Bios'] } }, 400],
    [{ settings: { BootMode: null } }, 400],
    [{ settings: { BootMode: 'Bios' }, when: 'later' }, 400],
    [{ settings: { BootMode: 'Bios' }, applyTime: 'OnReset' }, 400],
    [{ BootMode: 'Bios' }, 400],
  ])('%j is refused', async (body, status) => {
    const before = await changes(0);
    expect((await put(body)).status).toBe(status);
    expect(await changes(0)).toBe(before);
  });

  it('an unknown name is an error of the node that suggests another', async () => {
    const reply = await server.call('GET', '/nodes/d1/bios/BotMode');
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error).toEqual([expect.stringMatching(/no setting "BotMode"\. Did you mean "BootMode"\?/)]);
    expect((await server.call('GET', '/nodes/d1/bios?allowed=yes')).status).toBe(400);
    expect((await server.call('POST', '/nodes/d1/bios', { body: { action: 'frob' } })).status).toBe(403);
  });

  it('values that may be secrets are in no record', async () => {
    await put({ settings: { SetupPassword: 'hunter2', AdminPasswrd: 'hunter2', BootMode: 'Bios' } });
    const lines =
      JSON.stringify(await server.ok('GET', '/tables/auditlog/rows')) + JSON.stringify(await server.ok('GET', '/runs'));
    expect(lines.includes('hunter2')).toBe(false);
    expect(lines.match(/set SetupPassword[^"]*/)?.[0]).toBe(
      'set SetupPassword=xxxxxxxx AdminPasswrd=xxxxxxxx BootMode=Bios',
    );
  });

  it('a rule can allow to read and not to change, and only on some nodes', async () => {
    const token = await addUser(server, 'reader');
    await server.ok('POST', '/policy/5', {
      name: 'reader',
      commands: 'rbios',
      noderange: 'd1',
      parameters: '^get',
      rule: 'allow',
    });
    const as = (method: string, node: string, body?: unknown) =>
      server.call(method, `/nodes/${node}/bios`, { token, ...(body ? { body } : {}) });
    expect((await as('GET', 'd1')).status).toBe(200);
    const before = [await changes(0), (await lab.state(1)).requests.length];
    expect((await as('PUT', 'd1', { settings: { BootMode: 'Bios' } })).status).toBe(403);
    expect((await as('POST', 'd1', { action: 'reset' })).status).toBe(403);
    expect((await as('GET', 'd2')).status).toBe(403);
    expect([await changes(0), (await lab.state(1)).requests.length]).toEqual(before);
  });
});
