import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runHere } from '../cli/replay/run.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { ipmitool } from '../lab/tools.ts';
import { define, labNode, labNodes } from './nodes.ts';

let server: TestServer;
let bmcs: BmcLab;
let services: RedfishLab;
beforeAll(async () => {
  [server, bmcs, services] = await Promise.all([
    startServer(),
    startBmcs({ count: 2, prefix: '127.121' }),
    startRedfish({ count: 3, prefix: '127.44', kinds: ['plain', 'sparse', 'openbmc'] }),
  ]);
  await define(server, {
    ...labNodes('i', 'ipmi', bmcs.addresses),
    r1: labNode('redfish', services.addresses[0]!),
    s1: labNode('redfish', services.addresses[1]!),
    o1: labNode('openbmc', services.addresses[2]!),
    gone: labNode('ipmi', '127.121.99.99'),
  });
}, 300_000);
afterAll(() => Promise.all([server?.stop(), bmcs?.stop(), services?.stop()]));

interface Report {
  readonly level: string;
  readonly firmware: Record<string, string>;
  readonly findings: readonly { level: string; name: string; message: string }[];
}
const read = async (node: string): Promise<Report> => (await server.ok('GET', `/nodes/${node}/posture`))[node];
const named = ({ findings }: Report, name: string) => findings.filter((finding) => finding.name === name);
const run = (...argv: string[]) =>
  runHere({ argv, stdin: '', env: { HOME: server.data, MUSTER_SOCKET: join(server.data, 'muster.sock') } });

describe('of an IPMI node', () => {
  it('agrees with ipmitool about cipher suites', async () => {
    const listed = await ipmitool(bmcs.addresses[0]!, ['channel', 'getciphers', 'ipmi']);
    const ids = [...listed.matchAll(/^(\d+) +N\/A +(\w+) +\w+ +(\w+)/gm)];
    expect(ids.length).toBeGreaterThan(5);
    const plain = ids.filter(([, , auth, encryption]) => auth !== 'none' && encryption !== 'aes_cbc_128');
    const found = named(await read('i1'), 'cipher-suites');
    expect(found.map(({ level }) => level)).toEqual(['danger', 'warning']);
    expect(found[0]!.message).toMatch(/^Cipher suite 0 is offered: /);
    expect(found[1]!.message).toContain(`(${plain.map(([, id]) => id).join(', ')}`);
  });

  it('agrees with ipmitool about users, the log and the clock', async () => {
    const users = await ipmitool(bmcs.addresses[0]!, ['user', 'list', '1']);
    expect(users).toMatch(/^2 +admin +true +false +true +ADMINISTRATOR/m);
    const report = await read('i1');
    expect(named(report, 'accounts')).toEqual([
      { level: 'warning', name: 'accounts', message: expect.stringMatching(/in use: admin\. Make sure/) },
    ]);
    expect(await ipmitool(bmcs.addresses[0]!, ['sel', 'info'])).toMatch(/Overflow +: false/);
    expect(named(report, 'event-log')).toEqual([{ level: 'ok', name: 'event-log', message: expect.any(String) }]);
    expect(named(report, 'clock')[0]!.level).toBe('ok');
    // Set SEL Time, to January 2024.
    await ipmitool(bmcs.addresses[1]!, ['raw', '0x0a', '0x49', '0x25', '0x79', '0x93', '0x65']);
    expect(named(await read('i2'), 'clock')).toEqual([
      { level: 'warning', name: 'clock', message: expect.stringMatching(/^The clock is \d+ days behind: /) },
    ]);
  });

  it('shows an account without a name that can log in', async () => {
    const tool = (...words: string[]) => ipmitool(bmcs.addresses[1]!, words);
    await tool('user', 'set', 'password', '1', 'x');
    await tool('user', 'enable', '1');
    await tool('channel', 'setaccess', '1', '1', 'ipmi=on', 'privilege=2');
    // ipmi_sim does not say whether an account is enabled.
    expect(named(await read('i2'), 'accounts')).toContainEqual({
      level: 'warning',
      name: 'accounts',
      message: 'An account without a name may be able to log in: disable it.',
    });
  });

  it('says what is unknown, and the policy and versions', async () => {
    const report = await read('i1');
    expect(report.firmware).toEqual({ BMC: '2.15' });
    expect(named(report, 'authentication')[0]).toMatchObject({
      level: 'note',
      message: expect.stringMatching(/^Unknown: /),
    });
    expect(named(report, 'power-restore')[0]).toMatchObject({
      level: 'note',
      message: expect.stringMatching(/stays off/),
    });
  });
});

describe('of a Redfish node', () => {
  it('is read as far as the service reports it', async () => {
    const report = await read('r1');
    expect(report.firmware).toEqual({ BMC: '2.15.0', BIOS: 'LAB-BIOS-1.42' });
    expect(Object.fromEntries(report.findings.map(({ name, level }) => [name, level]))).toEqual({
      accounts: 'warning',
      certificate: 'note',
      'power-restore': 'note',
      'secure-boot': 'note',
      tls: 'ok',
      http: 'ok',
      ipmi: 'ok',
      clock: 'ok',
      'event-log': 'ok',
    });
    const sparse = await read('s1');
    for (const name of ['http', 'clock', 'event-log', 'power-restore'])
      expect(named(sparse, name)[0]).toMatchObject({ level: 'note', message: expect.stringMatching(/^Unknown: /) });
    expect((await read('o1')).firmware).toHaveProperty('BMC');
  });

  it('names what is wrong, the worst first', async () => {
    await services.fault(0, { weak: true });
    const { level, findings } = await read('r1');
    expect(level).toBe('danger');
    const texts = findings.map((finding) => `${finding.level} ${finding.name}: ${finding.message}`);
    expect(texts.slice(0, 2).toSorted()).toEqual([
      'danger accounts: An account without a name can log in: disable it.',
      expect.stringMatching(/^danger telnet: Telnet is enabled/),
    ]);
    expect(texts).toContainEqual(expect.stringMatching(/^warning http: HTTP without TLS is enabled/));
    expect(texts).toContainEqual(expect.stringMatching(/^warning clock: The clock is 4 hours ahead/));
    expect(texts).toContainEqual(expect.stringMatching(/^warning event-log: The event log has 3 of 3 entries/));
    await services.fault(0, { weak: false });
  });

  it('tries no password: the service refuses no login', async () => {
    expect((await services.state(0)).refusedLogins).toBe(0);
  });
});

describe('muster posture', () => {
  it('ends with 1 where there is a danger, and with 0 where there is none', async () => {
    expect(await run('posture', 'r1')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^r1: warning: accounts: /),
    });
    const shown = await run('posture', 'i1,r1', '--format', 'json');
    expect(shown.code).toBe(1);
    expect(JSON.parse(shown.stdout)).toMatchObject([
      { node: 'i1', value: { level: 'danger' } },
      { node: 'r1', value: { level: 'warning' } },
    ]);
    expect((await run('posture', 'r1', '--all')).stdout).toContain('r1: firmware: BIOS LAB-BIOS-1.42\n');
    expect((await run('posture', 'r1')).stdout).not.toContain('ok: ');
  });

  it('folds equal results, and one that does not answer is an error of its own', async () => {
    const { code, stdout, stderr } = await run('posture', 'r1,o1,gone', '--fold');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^gone: /)]);
    expect(stdout).toMatch(/^=+\n(o1,r1|r1,o1)\n=+\nwarning: accounts: /);
  });

  it.each([[['posture']], [['posture', 'r1', 'r1']], [['posture', 'r1', '--frob']], [['posture', 'r1', '--dry-run']]])(
    '%j is refused',
    async (words) => {
      expect((await run(...words)).code).toBe(2);
    },
  );

  it('is for accounts with a rule for it, on their nodes', async () => {
    const token = await addUser(server, 'watcher');
    await server.ok('POST', '/policy/5', { name: 'watcher', commands: 'posture', noderange: 'r1', rule: 'allow' });
    const as = (node: string) => server.call('GET', `/nodes/${node}/posture`, { token });
    expect([(await as('r1')).status, (await as('i1')).status]).toEqual([200, 403]);
  });
});

it.each([{ garbage: true }, { dead: 'refused' }] as const)(
  'a service with %j is an error, not a finding',
  async (fault) => {
    await services.fault(1, fault);
    expect((await server.call('GET', '/nodes/s1/posture')).status).toBeGreaterThanOrEqual(400);
    await services.fault(1, { garbage: false, dead: false });
  },
);
