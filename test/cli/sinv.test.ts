import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RemoteWorld, startWorld } from '../remote/world.ts';
import { runHere } from './replay/run.ts';

let world: RemoteWorld;
let env: Record<string, string>;
beforeAll(async () => {
  world = await startWorld({ count: 3, prefix: '127.128', port: 2616 });
  env = { HOME: world.server.data, MUSTER_SOCKET: join(world.server.data, 'muster.sock') };
}, 300_000);
afterAll(() => world?.stop());

const run = (...argv: string[]) => runHere({ argv, stdin: '', env });
const file = (name: string): string => join(world.server.data, name);
/** t1 has one line that the others lack. */
const command = 'echo kernel 6; [ $LAB_NAME = t1 ] && echo odd; echo end';
const rule = '='.repeat(36);

describe('sinv', () => {
  it('makes a template of the first node and lists who matches it', async () => {
    const template = file('first');
    expect(await run('sinv', '-p', template, '-e', '-c', `xdsh t0-t2 ${command}`)).toEqual({
      code: 0,
      stdout: [
        `Nodes that match ${template}:\nt[0,2]\n\n`,
        `Nodes that match no template, and how they differ from ${template}:\n`,
        `${rule}\nt1\n${rule}\n+ odd\n\n`,
      ].join(''),
      stderr: '',
    });
    expect(readFileSync(template, 'utf8')).toBe(`${rule}\nt0\n${rule}\nkernel 6\nend\n\n`);
  });

  it('takes more lines than the template has, unless they must be the same', async () => {
    const template = file('given');
    writeFileSync(template, `# what must be there\n${rule}\nt9\n${rule}\nkernel 6\n`);
    const { stdout } = await run('sinv', '-p', template, '-c', `xdsh t0-t2 '${command}'`);
    expect(stdout).toBe(`Nodes that match ${template}:\nt[0-2]\n\n`);
  });

  it('makes templates of those that match none, and removes what it made', async () => {
    const [template, report, script] = [file('seed'), file('report'), file('script')];
    writeFileSync(script, `xdsh t0-t2 ${command}\n`);
    const words = ['-p', template, '-s', 't1', '-t', '1', '-i', '-r', '-o', report, '-f', script];
    expect(await run('sinv', ...words)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(readFileSync(report, 'utf8')).toBe(`Nodes that match ${template}_1:\nt[0,2]\n\n`);
    expect([existsSync(template), existsSync(`${template}_1`)]).toEqual([false, false]);
  });

  it.each([
    [['-p', 'x', '-c', 'rpower t0 off'], 'The command must be "xdsh NODERANGE COMMAND" or "rinv NODERANGE KIND".'],
    [['-p', 'x', '-c', 'xdsh t0 ls | xdshcoll'], 'Leave out "| xdshcoll"'],
    [['-p', 'x', '-t', 'many', '-c', 'xdsh t0 ls'], '-t is a number of templates, not "many".'],
    [['t1', '-p', 'x', '-c', 'xdsh t0 ls'], 'The command is for t0, not for t1'],
  ])('refuses %j', async (words, sentence) => {
    expect(await run('sinv', ...words)).toMatchObject({ code: 1, stderr: expect.stringContaining(sentence) });
  });
});

describe('--fold --diff', () => {
  it('shows the most common result, and how the others differ from it', async () => {
    const { stdout } = await run('xdsh', 't0-t2', '--fold', '--diff', command);
    expect(stdout).toBe(`${rule}\nt[0,2]\n${rule}\nkernel 6\nend\n\n${rule}\nt1\n${rule}\n+ odd\n\n`);
  });

  it('needs --fold', async () => {
    expect(await run('xdsh', 't0', '--diff', 'true')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--diff compares folded results: use it with --fold'),
    });
  });
});
