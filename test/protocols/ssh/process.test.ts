import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isAlive } from '../../lab/child.ts';
import { keyFingerprint } from '../../../src/protocols/ssh/host-keys.ts';
import { SshProcesses } from '../../../src/protocols/ssh/process.ts';
import { commandLine } from '../../../src/core/shell-words.ts';
import { RemoteFiles } from '../../../src/protocols/ssh/sftp/files.ts';
import { putFile } from '../../../src/protocols/ssh/sftp/put.ts';
import { SharedSource } from '../../../src/protocols/ssh/sftp/source.ts';
import type { Target } from '../../../src/protocols/ssh/target.ts';
import { type SshLab, startSsh } from '../../lab/ssh.ts';
import { complaint, type MemoryHostKeys, memoryHostKeys, never, run, targetOf } from './world.ts';

const refusing = 3;
const hanging = 4;
let lab: SshLab;
let hostKeys: MemoryHostKeys;
let transport: SshProcesses;

beforeAll(async () => {
  lab = await startSsh({
    count: 5,
    prefix: '127.122',
    port: 2226,
    perProcess: 1,
    refusing: [refusing],
    hanging: [hanging],
  });
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
  const sentence = await complaint(run(strict, targetOf(lab, 0), 'true'));
  expect(sentence).toContain(`It shows ${keyFingerprint(lab.hostKey(0))}. If that is right: learn t0`);
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

it('says which machine on the way failed', async () => {
  const through = (jump: number, more: Partial<Target> = {}) => targetOf(lab, 0, { jump: targetOf(lab, jump, more) });
  const { addresses, port } = lab;
  expect(await complaint(run(transport, through(refusing), 'true'))).toMatch(
    new RegExp(`^it is reached through t3, and there: its sshd at ${addresses[refusing]}:${port} cannot .* refused$`),
  );
  expect(await complaint(run(transport, through(2, { user: 'nobody-such' }), 'true'))).toContain(
    `it is reached through t2, and there: its sshd at ${addresses[2]}:${port} does not accept user "nobody-such"`,
  );
  const behind = targetOf(lab, refusing, { jump: targetOf(lab, 2) });
  expect(await complaint(run(transport, behind, 'true'))).toMatch(
    / through t2 cannot be reached: stdio forwarding failed$/,
  );
  expect(await complaint(run(transport, through(hanging), 'true', { connectTimeout: 1_000 }))).toMatch(/ through t4 /);
});

it('tells a signal and a lost connection from an exit code of 255', async () => {
  const killed = await run(transport, targetOf(lab, 0), 'echo out; kill -KILL $$');
  expect(killed).toEqual({ stdout: 'out\n', stderr: '', code: undefined, signal: 'unknown' });
  const cut = run(transport, targetOf(lab, 2), 'kill -KILL $PPID; sleep 5');
  expect(await complaint(cut)).toContain('was lost');
});

it.each<[string, () => Partial<Target>]>([
  ['a node', () => ({})],
  ['a node behind another', () => ({ jump: targetOf(lab, 2) })],
])('kills what runs on %s when it is cancelled, whatever it has started', async (_name, more) => {
  const controller = new AbortController();
  const command = "trap '' TERM; sleep 300 & echo $$ $! > pids.new; mv pids.new pids; wait; wait; sleep 300";
  const work = run(transport, targetOf(lab, 0, more()), command, { signal: controller.signal });
  const file = join(lab.home(0), 'pids');
  await expect.poll(() => existsSync(file)).toBe(true);
  const pids = readFileSync(file, 'utf8').trim().split(' ').map(Number);
  rmSync(file);
  expect(pids.map(isAlive)).toEqual([true, true]);
  controller.abort();
  expect(await complaint(work)).toBe('the command was cancelled.');
  await expect.poll(() => pids.some(isAlive)).toBe(false);
});

it('kills what runs on a node when it is closed', async () => {
  const other = new SshProcesses({ keyFile: lab.privateKeyFile, hostKeys });
  const file = join(lab.home(0), 'closing');
  const work = run(other, targetOf(lab, 0), 'echo $$ > new; mv new closing; exec sleep 300');
  await expect.poll(() => existsSync(file)).toBe(true);
  await other.close();
  expect(isAlive(Number(readFileSync(file, 'utf8')))).toBe(false);
  expect(await work).toMatchObject({ signal: 'unknown' });
});

it('stops a command when its time is over', async () => {
  const limits = { connectTimeout: 10_000, commandTimeout: 500 };
  const sentence = await complaint(run(transport, targetOf(lab, 0), 'echo $$ > pid; sleep 60', limits));
  expect(sentence).toBe('the command did not end within 0.5 s and was stopped.');
  const pid = Number(readFileSync(join(lab.home(0), 'pid'), 'utf8'));
  await expect.poll(() => isAlive(pid)).toBe(false);
});

it('gives up a host that does not answer', async () => {
  const work = run(transport, targetOf(lab, hanging), 'true', { connectTimeout: 300 });
  expect(await complaint(work)).toMatch(/did not answer within 0.3 s/);
});

it('does not start what was cancelled before', async () => {
  const controller = new AbortController();
  const work = run(transport, targetOf(lab, 0), 'touch begun', { signal: controller.signal });
  controller.abort();
  expect(await complaint(work)).toBe('the command was cancelled.');
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(existsSync(join(lab.home(0), 'begun'))).toBe(false);
});

it('leaves nothing in the directory for temporary files', async () => {
  const { TMPDIR } = process.env;
  process.env.TMPDIR = mkdtempSync(join(tmpdir(), 'muster-test-'));
  try {
    const other = new SshProcesses({ keyFile: lab.privateKeyFile, hostKeys });
    await run(other, targetOf(lab, 0), 'true');
    expect(await complaint(run(other, targetOf(lab, 0), 'sleep 60', { commandTimeout: 100 }))).toContain('0.1 s');
    await other.close();
    expect(readdirSync(process.env.TMPDIR)).toEqual([]);
    rmSync(process.env.TMPDIR, { recursive: true });
  } finally {
    process.env.TMPDIR = TMPDIR ?? '/tmp';
  }
});

it('takes no options from commands and names', async () => {
  const mark = join(lab.home(0), 'injected');
  const option = `-oProxyCommand=touch ${mark}`;
  // The node's shell complains of it.
  expect((await run(transport, targetOf(lab, 0), option)).stderr).toContain('bash');
  for (const wrong of [
    { user: option },
    { address: option },
    { user: '-F/x' },
    { address: 'user@host' },
    { address: '%h' },
  ])
    expect(await complaint(run(transport, targetOf(lab, 0, wrong), 'true'))).toMatch(/is (neither|not)/);
  const jump = targetOf(lab, 2);
  for (const wrong of [{ user: "x'; touch y" }, { address: 'a b' }, { address: '-W' }]) {
    const target = targetOf(lab, 0, { jump: { ...jump, ...wrong } });
    expect(await complaint(run(transport, target, 'true'))).toMatch(/is (neither|not)/);
  }
  expect(existsSync(mark)).toBe(false);
});

it("minds a site's configuration for its nodes by name, and leaves no process behind though that asks for it", async () => {
  const configuration = join(lab.home(0), 'ssh_config');
  const kept = join(lab.home(0), 'kept');
  const blocks = [
    `Host t1\n  IdentityFile ${lab.privateKeyFile}`,
    `Host *\n  IdentitiesOnly yes\n  IdentityFile /dev/null\n  HostName nowhere.invalid\n  ControlMaster auto\n  ControlPersist 60`,
    `  ControlPath ${kept}\n  RequestTTY force\n`,
  ];
  writeFileSync(configuration, blocks.join('\n'));
  const other = new SshProcesses({ configuration, hostKeys: memoryHostKeys() });
  const open = lab.connections(1);
  expect(await run(other, targetOf(lab, 1), 'echo $LAB_NAME')).toMatchObject({ stdout: 't1\n', code: 0 });
  expect(await complaint(run(other, targetOf(lab, 0), 'true'))).toContain('does not accept');
  const behind = targetOf(lab, 1, { jump: targetOf(lab, 1) });
  expect(await run(other, behind, 'echo $LAB_NAME')).toMatchObject({ stdout: 't1\n', code: 0 });
  await other.close();
  await expect.poll(() => lab.connections(1)).toBe(open);
  expect(existsSync(kept)).toBe(false);
});

it('gives up a host that fills the log', async () => {
  const hostile = new ssh2.Server({ hostKeys: [lab.privateKey] }, (connection) => {
    connection.on('error', () => undefined).on('authentication', (context) => context.accept());
    connection.on('session', (accept) => {
      accept().on('exec', (take) => {
        const channel = take();
        const flood = setInterval(() => {
          for (let time = 0; time < 500; time++) channel.exit(0);
        }, 10);
        connection.once('close', () => clearInterval(flood));
      });
    });
  });
  await new Promise<void>((resolve) => hostile.listen(2227, '127.122.9.1', resolve));
  const target = { name: 'hostile', address: '127.122.9.1', port: 2227, user: 'root' };
  expect(await complaint(run(transport, target, 'true'))).toContain('does not stop sending');
  await new Promise((resolve) => hostile.close(resolve));
});

it('keeps the keys of hosts whose names have capital letters', async () => {
  await run(transport, targetOf(lab, 0, { name: 'Rack_1A' }), 'true');
  expect(hostKeys.keys.get('Rack_1A')).toBe(lab.hostKey(0));
  hostKeys.keys.set('Rack_1A', lab.hostKey(2));
  expect(await complaint(run(transport, targetOf(lab, 0, { name: 'Rack_1A' }), 'true'))).toContain('has changed');
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
