import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Client } from '../harness/client.ts';
import { exitOf } from '../harness/server.ts';
import { refuseBound } from '../lab/bound.ts';
import { ipmitool } from '../lab/tools.ts';

const program = join(import.meta.dirname, '../../scripts/lab.ts');

/** The lines of the first example below "Hardware". */
function shownInReadme(): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
  const example = text.split('### Hardware')[1]!.split('```sh\n')[1]!.split('```')[0]!;
  return example.trim().split('\n');
}

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
    // What README.md shows works for whoever pastes it after the lines that the lab has printed.
    const given = output.split('\n').filter((line) => /^[HAJ]=|^CA=/.test(line));
    for (const line of shownInReadme()) {
      const words = [...given, line.replaceAll('127.10.', '127.105.').replace('0.100"', '0.3"')].join('\n');
      const { stdout, status } = spawnSync('sh', ['-c', words], { encoding: 'utf8' });
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
