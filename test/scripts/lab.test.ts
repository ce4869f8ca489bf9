import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Client } from '../harness/client.ts';
import { exitOf } from '../harness/server.ts';
import { refuseBound } from '../lab/bound.ts';
import { ipmitool } from '../lab/tools.ts';

const checkout = join(import.meta.dirname, '../..');
const program = join(checkout, 'scripts/lab.ts');

it('brings up a cluster, defines it and leaves nothing behind', async () => {
  const options = ['--bmcs', '3', '--redfish', '2', '--prefix', '127.105', '--redfish-prefix', '127.106'];
  const lab = spawn(process.execPath, [program, ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  lab.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  try {
    await expect.poll(() => output).toContain('The lab is ready.');
    const value = (name: string): string => new RegExp(`^${name}='(.*)'$`, 'm').exec(output)![1]!;
    const token = value('A').replace('X-Auth-Token: ', '');
    const authority = value('CA').replace('--cacert ', '');
    const client = new Client(Number(new URL(value('H')).port), readFileSync(authority, 'utf8'));
    const reply = await client.call('GET', '/nodes/sim3,rf2/attrs/bmc,mgt', { token });
    client.close();
    expect(reply.json).toEqual({
      rf2: { bmc: '127.106.0.2', mgt: 'redfish' },
      sim3: { bmc: '127.105.0.3', mgt: 'ipmi' },
    });
    // What it prints works for whoever pastes it.
    const printed = output.split('\n');
    const given = printed.filter((line) => /^([HAJ]|CA)=|^export /.test(line));
    for (const line of printed.filter((each) => /^(curl|bin\/muster) /.test(each))) {
      const words = [...given, line].join('\n');
      const { stdout, status } = spawnSync('sh', ['-c', words], { encoding: 'utf8', cwd: checkout });
      expect([line, status, stdout]).toEqual([line, 0, expect.not.stringContaining('errorcode":1')]);
      expect([line, stdout]).toEqual([line, expect.not.stringContaining('"error":')]);
    }
    expect(await ipmitool('127.105.0.3', ['power', 'status'])).toContain('is on');

    lab.kill('SIGINT');
    expect(await exitOf(lab)).toBe(0);
    expect(existsSync(authority)).toBe(false);
    refuseBound('udp', ['127.105.0.3'], 623);
    refuseBound('tcp', ['127.106.0.2'], 443);
  } finally {
    lab.kill('SIGKILL');
  }
});

it('says what is wrong with its options', async () => {
  const lab = spawn(process.execPath, [program, '--bmcs', 'many'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let complaints = '';
  lab.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  expect(await exitOf(lab)).toBe(1);
  expect(complaints).toContain('It must be a whole number from 0 to 50000.');
});
