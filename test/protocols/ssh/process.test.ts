import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keyFingerprint } from '../../../src/protocols/ssh/host-keys.ts';
import { SshProcesses } from '../../../src/protocols/ssh/process.ts';
import { commandLine } from '../../../src/protocols/ssh/quote.ts';
import { RemoteFiles } from '../../../src/protocols/ssh/sftp/files.ts';
import { putFile } from '../../../src/protocols/ssh/sftp/put.ts';
import { SharedSource } from '../../../src/protocols/ssh/sftp/source.ts';
import { type SshLab, startSsh } from '../../lab/ssh.ts';
import { complaint, type MemoryHostKeys, memoryHostKeys, never, run, targetOf } from './world.ts';

const refusing = 3;
let lab: SshLab;
let hostKeys: MemoryHostKeys;
let transport: SshProcesses;

beforeAll(async () => {
  lab = await startSsh({ count: 4, prefix: '127.122', port: 2226, perProcess: 1, refusing: [refusing] });
  hostKeys = memoryHostKeys();
  transport = new SshProcesses({ keyFile: lab.privateKeyFile, hostKeys });
});
afterAll(async () => {
  await transport?.close();
  await lab?.stop();
});

it('tells output, complaints and exit code apart, also where they look like its own', async () => {
  expect(await run(transport, targetOf(lab, 0), 'echo out; echo err >&2; exit 255')).toEqual({
    stdout: 'out\n',
    stderr: 'err\n',
    code: 255,
    signal: undefined,
  });
});

it('hands over arguments and input unchanged', async () => {
  const words = ["it's", '$(reboot)', '', 'a\nb', '-o', '%h'];
  const line = commandLine(['sh', '-c', 'cat; printf "%s\\0" "$@"', 'sh', ...words]);
  const { stdout } = await run(transport, targetOf(lab, 0), line, { stdin: 'in;' });
  expect(stdout).toBe(`in;${words.map((word) => `${word}\0`).join('')}`);
});

it('keeps the keys of hosts and refuses changed ones', async () => {
  await run(transport, targetOf(lab, 1), 'true');
  expect(hostKeys.keys.get('t1')).toBe(lab.hostKey(1));
  const before = keyFingerprint(lab.hostKey(1));
  await lab.changeHostKey(1);
  const sentence = await complaint(run(transport, targetOf(lab, 1), 'true'));
  for (const piece of [before, keyFingerprint(lab.hostKey(1)), 'forget t1']) expect(sentence).toContain(piece);
});

it('accepts only known keys where it is told to', async () => {
  const strict = new SshProcesses({ keyFile: lab.privateKeyFile, hostKeys: memoryHostKeys('strict') });
  expect(await complaint(run(strict, targetOf(lab, 0), 'true'))).toContain('learn t0');
  await strict.close();
});

it('reaches a node through another', async () => {
  const target = targetOf(lab, 0, { jump: targetOf(lab, 2) });
  expect(await run(transport, target, 'echo $LAB_NAME')).toMatchObject({ stdout: 't0\n', code: 0 });
  expect(hostKeys.keys.get('t2')).toBe(lab.hostKey(2));
});

it('says why it failed', async () => {
  expect(await complaint(run(transport, targetOf(lab, refusing), 'true'))).toMatch(/cannot be reached: .*refused/);
  expect(await complaint(run(transport, targetOf(lab, 0, { user: 'nobody-such' }), 'true'))).toContain(
    'does not accept user',
  );
  expect(await complaint(run(transport, targetOf(lab, 0, { password: 'x' }), 'true'))).toContain('password cannot be');
});

it('can be cancelled and has deadlines', async () => {
  const controller = new AbortController();
  const work = run(transport, targetOf(lab, 0), 'touch started; sleep 5', { signal: controller.signal });
  await expect.poll(() => existsSync(join(lab.home(0), 'started')), { timeout: 5_000 }).toBe(true);
  controller.abort();
  expect(await complaint(work)).toBe('the command was cancelled.');
  const limits = { connectDeadline: 100, commandDeadline: 200 };
  expect(await complaint(run(transport, targetOf(lab, 0), 'sleep 5', limits))).toContain('did not end within 0.2 s');
});

it('says so when there is no ssh program', async () => {
  const { PATH } = process.env;
  process.env.PATH = lab.home(0);
  try {
    expect(await complaint(run(transport, targetOf(lab, 0), 'true'))).toContain('the ssh program cannot be run');
    const files = RemoteFiles.open(transport, targetOf(lab, 0), { signal: never });
    expect(await complaint(files)).toContain('the ssh program cannot be run');
  } finally {
    process.env.PATH = PATH;
  }
});

it('ends the command when the taker fails', async () => {
  const output = {
    stdout: () => {
      throw new Error('full');
    },
    stderr: () => undefined,
  };
  expect(await complaint(transport.exec(targetOf(lab, 0), 'echo x', output, { signal: never }))).toBe(
    'input or output of the command could not be passed on: full',
  );
});

it('copies files', async () => {
  const path = join(lab.home(1), 'source');
  writeFileSync(path, 'x'.repeat(3_000_000));
  const source = await SharedSource.open(path);
  const files = await RemoteFiles.open(transport, targetOf(lab, 0), { signal: never });
  await putFile(files, source, 'copied', never);
  files.close();
  await source.close();
  expect(readFileSync(join(lab.home(0), 'copied'), 'utf8')).toBe('x'.repeat(3_000_000));
  const refused = RemoteFiles.open(transport, targetOf(lab, refusing), { signal: never });
  expect(await complaint(refused)).toMatch(/cannot be reached: .*refused/);
});
