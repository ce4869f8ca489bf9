import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Common } from '../../src/cli/common-options.ts';
import { commands } from '../../src/cli/commands/index.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { hostileServer, stream, Victim } from './hostile-server.ts';
import { runHere } from './replay/run.ts';

let server: TestServer;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startServer();
  env = { HOME: server.data, MUSTER_SOCKET: join(server.data, 'muster.sock') };
  await server.ok('POST', '/nodes/n1-n3', { groups: 'all,compute', arch: 'x86_64', mgt: 'ipmi', bmc: '127.0.0.1' });
  await server.ok('PUT', '/nodes/n3', { rack: 'r1' });
});
afterAll(() => server.stop());

const run = (...argv: string[]) => runHere({ argv, stdin: '', env });
const revision = async () => (await server.call('GET', '/nodes/n1')).headers['x-muster-revision'];

const options: Readonly<Record<Common, readonly string[]>> = {
  format: ['--format', 'json'],
  fold: ['--fold'],
  diff: ['--diff'],
  dryRun: ['--dry-run'],
  curl: ['--curl'],
  yes: ['--yes'],
  detach: ['--detach'],
  wait: ['--wait'],
};

describe('every command', () => {
  it.each(Object.keys(commands))('%s says why it does not take a common option', async (name) => {
    const { common, parsed } = await commands[name]!.load();
    for (const option of Object.keys(options) as Common[]) {
      // Some have an option of their own of that name.
      if (common.includes(option) || option in parsed) continue;
      const { code, stderr } = await run(name, ...options[option]);
      expect([code, stderr]).toEqual([
        commands[name]!.isMuster ? 2 : 1,
        expect.stringContaining(`${name} does not take ${options[option][0]}: it `),
      ]);
    }
  });

  it.each(Object.keys(commands))('%s shows in its help what it takes', async (name) => {
    const { common } = await commands[name]!.load();
    const { stdout } = await run(name, '-h');
    for (const option of common) expect(stdout).toContain(`  ${options[option][0]}`);
  });
});

describe('--format and --fold', () => {
  it.each([
    [
      ['lsdef', 'n1,n3', '-i', 'arch,rack', '--format', 'json'],
      [
        { name: 'n1', type: 'node', attributes: { arch: 'x86_64', rack: '' } },
        { name: 'n3', type: 'node', attributes: { arch: 'x86_64', rack: 'r1' } },
      ],
    ],
    [['nodels', 'n3', 'nodepos.rack', '--format', 'json'], [{ node: 'n3', value: { 'nodepos.rack': 'r1' } }]],
    [
      ['nodels', 'compute', '--format=json'],
      [{ node: 'n1' }, { node: 'n2' }, { node: 'n3' }],
    ],
    [['tabdump', 'nodepos', '--format', 'json'], undefined],
  ])('%j', async (argv, expected) => {
    // Behind its operand tabdump has no options.
    const words = expected === undefined ? [argv[0]!, '--format', 'json', argv[1]!] : argv;
    const { code, stdout } = await run(...words);
    expect([code, JSON.parse(stdout)]).toEqual([0, expected ?? [{ node: 'n3', rack: 'r1' }]]);
  });

  it('have columns and lists too', async () => {
    expect((await run('lsdef', 'n1,n3', '-i', 'arch,rack', '--format', 'csv')).stdout).toBe(
      'name,type,arch,rack\nn1,node,x86_64,\nn3,node,x86_64,r1\n',
    );
    expect((await run('nodels', 'n3', 'nodepos.rack', '--format', 'yaml')).stdout).toBe(
      '- node: n3\n  value:\n    nodepos.rack: r1\n',
    );
    expect((await run('tabdump', '--format', 'table', 'nodepos')).stdout).toBe('node  rack\nn3    r1\n');
  });

  it('fold equal objects under their names', async () => {
    const rule = '='.repeat(36);
    expect((await run('nodels', '--fold')).stdout).toBe('n[1-3]\n');
    expect((await run('lsdef', 'n1-n3', '-i', 'rack', '--fold')).stdout).toBe(
      `${rule}\nn[1-2]\n${rule}\nobjtype=node\nrack=\n\n${rule}\nn3\n${rule}\nobjtype=node\nrack=r1\n\n`,
    );
    expect((await run('nodels', 'n1-n3', 'nodetype.arch', '--fold')).stdout).toBe(
      `${rule}\nn[1-3]\n${rule}\nx86_64\n\n`,
    );
  });
});

describe('--dry-run', () => {
  it.each([
    [['chdef', 'n1', 'rack=r7'], 'nodepos node=n1 (new)\n+  rack=r7\n'],
    [['nodech', 'n3', 'nodepos.rack=r8'], 'nodepos node=n3\n-  rack=r1\n+  rack=r8\n'],
    [['tabch', 'node=n3', 'nodepos.rack=r8', 'nodepos.u=3'], '+  u=3\n'],
    [['mkdef', 'n9', 'groups=all'], 'nodelist node=n9 (new)\n'],
    [['noderm', 'n3'], 'nodepos node=n3 (removed)\n-  rack=r1\n'],
    [['rmdef', 'n3'], 'nodepos node=n3 (removed)\n-  rack=r1\n'],
  ])('of %j shows the rows that would change', async (argv, expected) => {
    const before = await revision();
    for (const spelled of ['--dry-run', '--dryrun']) {
      const { code, stdout, stderr } = await run(...argv, spelled);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toContain(expected);
    }
    expect(await revision()).toBe(before);
  });

  it('is sent for work on nodes, and shows what the server answers', async () => {
    const lab = await hostileServer();
    const victim = new Victim(lab);
    const asked = async (answer: object | string) => {
      lab.answers = { '/nodes/n1/power': answer };
      return victim.run(['rpower', 'n1', 'off', '--dry-run']);
    };
    expect(await asked(stream({ node: 'n1', value: { mgt: 'ipmi', address: '10.0.0.1' } }))).toMatchObject({
      code: 0,
      stdout: 'n1: dry run mgt=ipmi address=10.0.0.1\n',
    });
    expect((await asked({ targets: { n1: '10.0.0.1' } })).stdout).toContain('"n1": "10.0.0.1"');
    const request = lab.server.asked.at(-1)!;
    expect(request.path).toBe('/muster/nodes/n1/power?dryRun=1');
    await lab.server.stop();
  });
});

describe('--detach', () => {
  it('leaves work on images to the server and prints its run', async () => {
    const lab = await hostileServer();
    const accepted = 'HTTP/1.1 202 Accepted\r\nx-muster-run: 17\r\ncontent-length: 0\r\n\r\n';
    lab.answers = { '/osimages/deb12/instance': accepted, '/osimages/deb12': {} };
    const done = await new Victim(lab).run(['packimage', 'deb12', '--detach']);
    expect(done).toEqual({ code: 0, stdout: '17\n', stderr: '' });
    await lab.server.stop();
    const both = await run('packimage', 'deb12', '--detach', '--wait');
    expect(both.stderr).toContain('--detach and --wait cannot be used together');
  });
});

describe('--curl', () => {
  it.each([
    [['lsdef', 'n1'], 'http://localhost/muster/definitions/node/n1'],
    [['rpower', 'n1', 'off'], `-d '{"action":"off"}' http://localhost/muster/nodes/n1/power`],
    [['chdef', 'n1', 'bmcpassword=x'], '"bmcpassword":"********"'],
    [['packimage', 'nosuch', '-m', 'cpio'], ''],
    [['rinstall', 'n1', 'boot'], `-d '{"action":"boot"}' http://localhost/muster/nodes/n1/provision`],
    [['rpower', 'n1', 'off', '--dry-run'], `http://localhost/muster/nodes/n1/power?dryRun=1`],
    [['rmdef', 'n1', '--dry-run'], `?dryRun=1`],
    [['rpower', 'n1', 'off', '--detach'], `-H 'Prefer: respond-async'`],
  ])('prints the requests of %j and changes nothing', async (argv, expected) => {
    const before = await revision();
    const { stdout } = await run(...argv, '--curl');
    if (expected === '') expect(stdout).toBe('');
    else expect(stdout).toMatch(/^curl --unix-socket \S+ .*\n$/);
    expect(stdout).toContain(expected);
    expect(await revision()).toBe(before);
  });
});

describe('options that xCAT has and muster cannot do', () => {
  it.each([
    [['updatenode', 'n1', '-k'], '-k, --security is not supported here: xdsh -K hands out the key of muster.'],
    [['xdcp', 'n1', '-l', 'nobody', '/etc/hosts', '/tmp'], '-l, --user is not supported here: muster copies as root'],
    [['xdcp', 'n1', '-F', '/x', '-P', '-R'], '-F copies to nodes: it does not go together with -P'],
    [['xdcp', 'n1', '-P', '--server-files', '/x', '/tmp'], 'it does not go together with --server-files'],
    [['rscan', 'n1', '-w'], '-w is not supported here: pipe the stanzas of -z into mkdef -z.'],
    [
      ['rpower', 'n1', 'on', '--iso', 'a.iso'],
      '--iso is not supported here: muster media NODERANGE insert FILE attaches',
    ],
    [['chvm', 'n1', '--cpupin', '0-3'], '--cpupin is not supported here: set vmothersetting=vcpupin:PROCESSORS'],
    [['chvm', 'n1', '--membind', '0'], '--membind is not supported here: set vmothersetting=membind:NODES'],
    [
      ['chvm', 'n1', '--optical', 'a.iso'],
      '--cdrom, --optical is not supported here: muster attaches no media to virtual machines',
    ],
    [['chvm', 'n1', '--eject'], '--eject is not supported here: muster attaches no media to virtual machines'],
    [['mkvm', 'n1', '-m', 'gold', '-s', '10'], 'With -m the disks are those of the master'],
    [['rpower', 'n1', 'on', '-t', '5'], '-t is not supported here: muster waits for no status'],
    [['updatenode', 'n1', '-f'], '-f is not supported here: there are no service nodes'],
    [['updatenode', 'n1', '-l', 'nobody', '-F'], '-l, --user is not supported here: muster works as root'],
    [['updatenode', 'n1', '--fanout', '3'], '--fanout is not supported here'],
    [['imgimport', 'a.tgz', '-p', 'n1'], '-p, --postscripts is not supported here'],
    [['rinstall', 'n1', '-c'], '-c, --console is not supported here: it opens no console'],
    [['bmcdiscover', '--range', '10.0.0.1', '-w'], '-w, --write is not supported here: pipe the stanzas'],
    [['rmvm', 'n1', '-r'], '-r is not supported here'],
    [['reventlog', 'n1', 'resolved=all'], 'resolved= is not supported here'],
    [['makehosts', '-d', 'n1', '-n'], '-d takes lines out'],
  ])('are refused by name: %j', async (argv, sentence) => {
    expect(await run(...argv)).toMatchObject({ code: 1, stderr: expect.stringContaining(sentence) });
  });

  it.each([[['rpower', 'n1', 'off', 'on']], [['updatenode', 'n1', 'zz']]])('%j is refused as a whole', async (argv) => {
    const before = await revision();
    expect((await run(...argv)).code).toBe(1);
    expect(await revision()).toBe(before);
  });
});
