import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { type SshLab, startSsh } from '../lab/ssh.ts';
import { environmentFor, muster, program } from './command-line.ts';

describe('the tools administrators have', { timeout: 120_000 }, () => {
  let server: TestServer;
  let ssh: SshLab;
  let home: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'muster-tools-'));
    [server, ssh] = await Promise.all([startServer(), startSsh({ count: 2, prefix: '127.181' })]);
    env = { ...environmentFor(server, home), LANG: 'C.UTF-8' };
    for (const [index, address] of ssh.addresses.entries())
      await server.ok('POST', `/nodes/n${index + 1}`, { groups: 'all,compute,rack1', ip: address });
    await server.ok('POST', '/nodes/n3-n5', { groups: 'all,rack2' });
    await server.ok('PUT', '/nodes/n1,n2', { cpucount: '8', memory: '64GB', bmcpassword: 'secret', mgt: 'ipmi' });
  });
  afterAll(async () => {
    await Promise.all([server?.stop(), ssh?.stop()]);
    rmSync(home, { recursive: true, force: true });
  });

  const printed = async (file: string, ...argv: string[]): Promise<string> => {
    const { stdout, stderr, code } = await program(file, argv, env);
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  };
  const lines = (text: string): string[] => text.split('\n').filter(Boolean);

  describe('Ansible', () => {
    let inventory: string;
    beforeAll(() => {
      inventory = join(home, 'muster-inventory');
      writeFileSync(inventory, `#!/bin/sh\nexec ${muster} inventory "$@"\n`);
      chmodSync(inventory, 0o755);
      env = { ...env, ANSIBLE_HOST_KEY_CHECKING: 'False', ANSIBLE_NOCOLOR: '1' };
    });

    it('finds groups, hosts and their variables', async () => {
      const found = JSON.parse(await printed('ansible-inventory', '-i', inventory, '--list'));
      expect(found.compute.hosts).toEqual(['n1', 'n2']);
      expect(found.rack2.hosts).toEqual(['n3', 'n4', 'n5']);
      const { hostvars } = found['_meta'];
      expect(hostvars.n1).toMatchObject({ ansible_host: ssh.addresses[0], muster_cpucount: '8' });
      expect(JSON.stringify(found)).not.toContain('*****');
    });

    it('finds the variables of one host', async () => {
      const found = JSON.parse(await printed(inventory, '--host', 'n2'));
      expect(found).toMatchObject({ ansible_host: ssh.addresses[1], muster_groups: 'all,compute,rack1' });
    });

    it('runs nothing that stands in an attribute', async () => {
      const mark = join(home, 'was-run');
      const usercomment = `{{ lookup("pipe", "touch ${mark}") }}`;
      await server.ok('PUT', '/nodes/n1', { usercomment });
      const words = ['-i', inventory, 'n1', '-c', 'local', '-m', 'debug', '-a', 'msg="it is {{ muster_usercomment }}"'];
      const shown = await printed('ansible', ...words);
      expect(JSON.parse(shown.slice(shown.indexOf('{')))).toMatchObject({ msg: `it is ${usercomment}` });
      expect(existsSync(mark)).toBe(false);
      expect(JSON.parse(await printed(inventory, '--host', 'n1'))['muster_usercomment']).not.toBe(usercomment);
      await server.ok('PUT', '/nodes/n1', { usercomment: '' });
    });

    it('reaches the nodes of a group', async () => {
      const variables = join(home, 'variables.json');
      const ansible = {
        ansible_port: ssh.port,
        ansible_ssh_common_args: '-o UserKnownHostsFile=/dev/null',
        ansible_python_interpreter: '/usr/bin/python3',
      };
      writeFileSync(variables, JSON.stringify(ansible));
      const { stdout } = await program(
        'ansible',
        `-i ${inventory} compute -m ping -o --private-key ${ssh.privateKeyFile} -u ${ssh.username} -e @${variables}`.split(
          ' ',
        ),
        env,
      );
      expect(lines(stdout).filter((line) => line.includes('SUCCESS'))).toHaveLength(2);
    });
  });

  describe('ClusterShell', () => {
    beforeAll(async () => {
      const directory = join(home, 'clustershell');
      mkdirSync(join(directory, 'groups.conf.d'), { recursive: true });
      writeFileSync(join(directory, 'groups.conf'), '[Main]\ndefault: muster\nconfdir: $CFGDIR/groups.conf.d\n');
      writeFileSync(join(directory, 'groups.conf.d/muster.conf'), await printed(muster, 'clustershell'));
      env = { ...env, CLUSTERSHELL_CFGDIR: directory };
    });

    it('knows groups, their nodes, and groups of nodes', async () => {
      expect(await printed('nodeset', '-f', '@rack2')).toBe('n[3-5]\n');
      expect(await printed('nodeset', '-f', '-a')).toBe('n[1-5]\n');
      expect(lines(await printed('nodeset', '-l'))).toEqual(['@all', '@compute', '@rack1', '@rack2']);
      expect(lines(await printed('nodeset', '-l', 'n1')).sort()).toEqual(['@all', '@compute', '@rack1']);
    });

    it('runs commands on a group', async () => {
      const { stdout } = await program('clush', ['-w', '@rack1', '--worker=exec', 'echo %host'], env);
      expect(lines(stdout).sort()).toEqual(['n1: n1', 'n2: n2']);
    });
  });

  it('genders are read back by nodeattr', async () => {
    const file = join(home, 'genders');
    writeFileSync(file, await printed(muster, 'genders', '-i', 'mgt'));
    expect(lines(await printed('nodeattr', '-f', file, '-n', 'rack2'))).toEqual(['n3', 'n4', 'n5']);
    expect(lines(await printed('nodeattr', '-f', file, '-n', 'mgt=ipmi'))).toEqual(['n1', 'n2']);
  });

  it('Slurm takes the nodes and partitions', async () => {
    const file = join(home, 'slurm.conf');
    const state = join(home, 'slurm');
    mkdirSync(state);
    const [nodes, partitions] = [
      await printed(muster, 'slurm', 'nodes'),
      await printed(muster, 'slurm', 'partitions', 'compute'),
    ];
    expect(lines(nodes)).toEqual([
      'NodeName=n[1-2] CPUs=8 RealMemory=65536 State=UNKNOWN',
      'NodeName=n[3-5] State=UNKNOWN',
    ]);
    const settings = [
      'ClusterName=lab',
      'SlurmctldHost=localhost',
      'CommunicationParameters=NoCtldInAddrAny',
      'SlurmctldPort=46817',
      'AuthType=auth/none',
      'CredType=cred/none',
      'SlurmUser=root',
      `StateSaveLocation=${state}`,
      `SlurmctldPidFile=${join(state, 'pid')}`,
      'ProctrackType=proctrack/linuxproc',
      'SelectType=select/cons_tres',
    ];
    // Names of nodes that nobody resolves would only slow it down.
    const addressed = (await printed(muster, 'slurm', 'nodes', '--addresses')).replaceAll(
      /^NodeName=(n\[3-5\]) /gm,
      'NodeName=$1 NodeAddr=127.0.0.[3-5] ',
    );
    writeFileSync(file, `${settings.join('\n')}\n${addressed}${partitions}`);
    const daemon = spawn('slurmctld', ['-D', '-f', file], { env: { ...env, SLURM_CONF: file }, stdio: 'ignore' });
    try {
      const asked = async (): Promise<string> => {
        const { stdout, code } = await program('scontrol', ['show', 'node', '-o'], { ...env, SLURM_CONF: file });
        expect(code).toBe(0);
        return stdout;
      };
      const shown = lines(await vi.waitFor(asked, { timeout: 60_000, interval: 200 }));
      expect(shown).toHaveLength(5);
      expect(shown[0]).toMatch(/^NodeName=n1 .*CPUTot=8 .*RealMemory=65536 .*Partitions=compute /);
    } finally {
      daemon.kill('SIGKILL');
      await once(daemon, 'exit');
    }
  });
});
