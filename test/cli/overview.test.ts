import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manual from '../../scripts/xcat-manual.json' with { type: 'json' };
import { absentCommands } from '../../src/cli/commands/absent-commands.ts';
import { commands } from '../../src/cli/commands/index.ts';
import { addUser } from '../harness/users.ts';
import { runMuster, startServer, type TestServer } from '../harness/server.ts';
import { runHere } from './replay/run.ts';

let server: TestServer;
let own: string;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startServer();
  own = mkdtempSync(join(tmpdir(), 'muster-overview-'));
  env = { HOME: own, MUSTER_SOCKET: join(server.data, 'muster.sock') };
  await server.ok('POST', '/nodes/n1-n3', { groups: 'all', mgt: 'ipmi', bmc: '127.0.0.1', bmcpassword: 'topsecret' });
  await server.ok('PUT', '/nodes/n1,n2', { status: 'booted' });
  await server.ok('PUT', '/nodes/n3', { status: 'failed', serial: 'S1', mtm: 'M1' });
});
afterAll(async () => {
  rmSync(own, { recursive: true, force: true });
  await server.stop();
});

const run = (...argv: string[]) => runHere({ argv, stdin: '', env });

describe('a command of the manual of xCAT', () => {
  it('is there, or one sentence says what to use instead', () => {
    expect(Object.keys(manual)).toHaveLength(175);
    expect(Object.keys(manual).filter((name) => !Object.hasOwn(commands, name))).toEqual([]);
  });

  it.each(Object.entries(absentCommands))('%s does nothing, and says so', async (name, sentence) => {
    expect(await run(name, 'n1', '--some=thing')).toEqual({
      code: 1,
      stdout: '',
      stderr: `Error: There is no ${name}. ${sentence}\n`,
    });
    expect(sentence).toMatch(/^\w.*\.$/);
  });
});

describe('muster status', () => {
  it('shows the cluster on one screen', async () => {
    await expect.poll(async () => (await run('status')).stdout).toMatch(/^ {2}disks +data \(/m);
    const { code, stdout } = await run('status');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}server +muster \d+\.\d+\.\d+ at the socket .*muster\.sock$/m);
    expect(stdout).toMatch(/^ {2}nodes +3: booted 2, failed 1$/m);
    expect(stdout).toMatch(/^ {2}running +nothing$/m);
    expect(stdout).toMatch(/^ {2}certificate +ends in \d+ days$/m);
  });

  it('shows what failed last, and the power state if it is asked for', async () => {
    await run('rpower', 'n1-n3', 'on');
    const { stdout } = await run('status', '--power');
    expect(stdout).toMatch(
      /^ +(?:failed +)?\d{4}-\d\d-\d\d \d\d:\d\d {2}rpower by root \(\S+\): 3 of 3 nodes failed$/m,
    );
    expect(stdout).toMatch(/^ {2}power +failed 3$/m);
  });

  it('is data with --format', async () => {
    const { stdout } = await run('status', '--format', 'json');
    expect(JSON.parse(stdout)).toContainEqual({ what: 'nodes', text: '3: booted 2, failed 1', well: true });
  });

  it('shows nobody what they may not see', async () => {
    const token = await addUser(server, 'guest');
    await server.ok('POST', '/policy/5', { name: 'guest', commands: 'lsdef', noderange: 'n1', rule: 'allow' });
    const other = {
      HOME: own,
      MUSTER_URL: `https://127.0.0.1:${server.port}`,
      MUSTER_TOKEN: token,
      MUSTER_CA: join(server.data, 'tls/ca.pem'),
    };
    const { stdout } = await runHere({ argv: ['status'], stdin: '', env: other });
    expect(stdout).toMatch(/^ {2}nodes +none$/m);
    expect(stdout).not.toMatch(/disks|certificate|failed/);
  });
});

describe('muster help', () => {
  it('shows the help of a command, a page, and the only section about a word', async () => {
    expect((await run('help', 'rpower')).stdout).toMatch(/^Usage: rpower /);
    expect((await run('help', '--page', 'boot')).stdout).toMatch(/^# Network boot and provisioning\n/);
    expect((await run('help', 'hardware')).stdout).toMatch(/^# Hardware/);
    expect((await run('help', 'synclists')).stdout).toMatch(/^## Keep files up to date with synclists\n/);
    expect((await run('help', 'limits')).stdout).toMatch(/^# /);
  });

  it('lists sections if there are several, and what may have been meant', async () => {
    expect((await run('help', 'groups')).stdout).toMatch(/^Usage: muster groups/);
    expect((await run('help', 'curl')).stdout).toMatch(/^Sections about "curl".*\n\n {2}\w+: .*\n/);
    expect(await run('help', 'rpowr')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean "rpower"?'),
    });
  });

  it('does not list the commands that are not there, but counts them', async () => {
    const { stdout } = await run('help');
    expect(stdout).toContain(`${Object.keys(absentCommands).length} other commands of xCAT say what to use instead.`);
    expect(stdout).toContain('such as serve, backup and worker: muster --help.');
    const ofServer = await runMuster(['--help']);
    expect(ofServer.output).toContain('clients of a server: "muster help" lists them.');
    expect(stdout).not.toContain('mkvlan');
  });
});

it('lsxcatd --muster shows the version of the server', async () => {
  expect(await run('lsxcatd', '--muster')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^muster \d/) });
});

describe('muster support', () => {
  it('writes an archive that only its owner can read, without secrets', async () => {
    const target = join(own, 'support');
    const { code, stdout } = await run('support', '-d', target);
    const [name = ''] = readdirSync(target);
    const file = join(target, name);
    expect([code, stdout]).toEqual([0, `${file} has been written. Look at it before you send it.\n`]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    execFileSync('tar', ['-xzf', file, '-C', target]);
    const inside = join(target, name.replace('.tar.gz', ''));
    expect(readdirSync(inside)).toEqual(
      expect.arrayContaining(['changes.json', 'client.txt', 'metrics.txt', 'runs.json', 'tables']),
    );
    expect(readFileSync(join(inside, 'tables/nodehm.json'), 'utf8')).toContain('n1');
    expect(readdirSync(join(inside, 'tables'))).not.toContain('token.json');
    for (const each of readdirSync(inside, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()))
      expect(readFileSync(join(each.parentPath, each.name), 'utf8')).not.toContain('topsecret');
  });

  it('writes nothing into a directory that another user can change', async () => {
    const [theirs, open] = [join(own, 'theirs'), join(own, 'open')];
    for (const each of [theirs, open]) mkdirSync(each);
    chownSync(theirs, 65_534, 65_534);
    chmodSync(open, 0o777);
    for (const each of [theirs, open]) {
      const { code, stderr } = await run('xcatsnap', '-d', each);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`${each} belongs to another user`)]);
      expect(readdirSync(each)).toEqual([]);
    }
  });

  it('writes through no link and over no file that has the name of the archive', async () => {
    const [target, precious] = [join(own, 'taken'), join(own, 'precious')];
    mkdirSync(target);
    writeFileSync(precious, 'precious');
    const soon = Array.from({ length: 120 }, (_, second) =>
      new Date(Date.now() + second * 1000).toISOString().replaceAll(/[-:]|\..*/g, ''),
    );
    for (const time of soon) symlinkSync(precious, join(target, `xcatsnap.${hostname()}.${time}.tar.gz`));
    expect(await run('xcatsnap', '-d', target)).toMatchObject({ code: 1, stderr: expect.stringContaining('EEXIST') });
    expect(readFileSync(precious, 'utf8')).toBe('precious');
  });
});

describe('muster doctor and xcatprobe', () => {
  it('look at one thing and say what is wrong', async () => {
    expect(await run('doctor', 'clusterstatus')).toEqual({
      code: 1,
      stdout: 'ok     booted       2: n[1-2]\nWRONG  failed       1: n3\n',
      stderr: '',
    });
    expect((await run('xcatprobe', 'nodecheck')).stdout).toContain('[FAIL] BMC: n[1-3] all have 127.0.0.1\n');
    expect(await run('xcatprobe', 'nodecheck', '-n', 'n1')).toMatchObject({ code: 0 });
    expect((await run('xcatprobe', 'xcatmn')).stdout).toContain('[FAIL] site: master, domain, nameservers not set');
    expect(await run('xcatprobe', 'discovery')).toMatchObject({ code: 0 });
    expect((await run('xcatprobe', 'osdeploy', '-n', 'n3')).stdout).toMatch(/^\[FAIL\] n3: failed: /);
  });

  it.each(['detect_dhcpd', 'image', 'switch_macmap', 'nosuch'])('have no %s, and say so', async (name) => {
    expect(await run('xcatprobe', name)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^Error: .*\.\n$/),
    });
  });
});

describe('nodechmac', () => {
  it('changes the address', async () => {
    expect(await run('nodechmac', 'n1', 'mac=52:54:00:00:00:01')).toMatchObject({
      code: 0,
      stdout: 'n1 has the MAC address 52:54:00:00:00:01 now.\n',
    });
    expect(await server.ok('GET', '/nodes/n1/attrs/mac')).toEqual({ n1: { mac: '52:54:00:00:00:01' } });
  });

  it('takes one node', async () => {
    expect(await run('nodechmac', 'n1-n3', 'mac=52:54:00:00:00:02')).toMatchObject({
      code: 1,
      stderr: 'Error: Name one node, not 3.\n',
    });
  });
});

describe('swapnodes', () => {
  it('exchanges in one change, or gives one node the place of the other', async () => {
    await server.ok('PUT', '/nodes/n1', { rack: 'r1', unit: '3' });
    await server.ok('PUT', '/nodes/n2', { rack: 'r2' });
    expect(await run('swapnodes', '-c', 'n1', '-f', 'n2')).toMatchObject({ code: 0 });
    const places = async () => server.ok('GET', '/nodes/n1,n2/attrs/rack,unit');
    expect(await places()).toEqual({ n1: { rack: 'r2', unit: '' }, n2: { rack: 'r1', unit: '3' } });
    expect(await run('swapnodes', '-c', 'n1', '-f', 'n2', '-o')).toMatchObject({ code: 0 });
    expect(await places()).toEqual({ n1: { rack: 'r1', unit: '3' }, n2: { rack: 'r1', unit: '3' } });
  });
});
