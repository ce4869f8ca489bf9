import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fault, Unreachable } from '../../../src/core/errors.ts';
import type { SshClient } from '../../../src/protocols/ssh/client.ts';
import { CollectedOutput } from '../../../src/protocols/ssh/collected.ts';
import { commandLine, withEnvironment } from '../../../src/core/shell-words.ts';
import { type SshLab, startSsh } from '../../lab/ssh.ts';
import { clientOf, complaint, never, run, targetOf } from './world.ts';

const [hanging, refusing] = [4, 5];
let lab: SshLab;
let client: SshClient;

beforeAll(async () => {
  lab = await startSsh({
    count: 6,
    prefix: '127.122',
    perProcess: 1,
    hanging: [hanging],
    refusing: [refusing],
  });
  client = clientOf(lab);
});
afterAll(async () => {
  await client?.close();
  await lab?.stop();
});

const on = (index: number, command: string, options = {}) => run(client, targetOf(lab, index), command, options);

describe('a command', () => {
  it('tells output, complaints and exit code apart', async () => {
    expect(await on(0, 'echo out; echo err >&2; exit 7')).toEqual({
      stdout: 'out\n',
      stderr: 'err\n',
      code: 7,
      signal: undefined,
    });
  });

  it('tells the signal that ended it', async () => {
    expect(await on(0, 'kill -SEGV $$')).toMatchObject({ code: undefined, signal: 'SIGSEGV' });
  });

  it('runs in the home of its own node', async () => {
    expect((await on(0, 'pwd')).stdout).toBe(`${lab.home(0)}\n`);
    expect((await on(1, 'pwd; echo $LAB_NAME')).stdout).toBe(`${lab.home(1)}\nt1\n`);
  });

  it('reads nothing unless it is given something', async () => {
    expect(await on(0, 'cat; echo done')).toMatchObject({ stdout: 'done\n', code: 0 });
    expect(await on(0, 'cat', { stdin: 'some input' })).toMatchObject({ stdout: 'some input' });
  });

  it('is fed as fast as it reads', async () => {
    async function* input() {
      for (let i = 0; i < 64; i++) yield Buffer.alloc(256 * 1024, i);
    }
    expect(await on(0, 'sleep 0.2; wc -c', { stdin: input() })).toMatchObject({ stdout: `${64 * 256 * 1024}\n` });
  });

  it('may leave its input unread', async () => {
    expect(await on(0, 'exit 3', { stdin: Buffer.alloc(8 << 20) })).toMatchObject({ code: 3 });
  });

  it('gets variables as they are', async () => {
    const values = {
      A: "it's $(touch pwned) `touch pwned`",
      B: 'two\nlines\n',
      C: '',
      D: '"; touch pwned; "',
      E: '\\',
    };
    const command = withEnvironment(values, 'printf "%s\\0" "$A" "$B" "$C" "$D" "$E"');
    expect((await on(0, command)).stdout.split('\0')).toEqual([...Object.values(values), '']);
    expect(existsSync(join(lab.home(0), 'pwned'))).toBe(false);
  });

  it('gets every array of arguments unchanged', async () => {
    const script = 'for word; do printf "%s\\0" "$word"; done';
    const word = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 20 }),
      fc.string({ unit: fc.constantFrom("'", '"', '\\', '$', '`', '(', ')', '\n', ' ', '*', '!', '~', '-', '=', 'a') }),
    );
    const words = fc.array(
      word.filter((text) => !text.includes('\0')),
      { maxLength: 10 },
    );
    await fc.assert(
      fc.asyncProperty(words, async (list) => {
        const { stdout } = await on(0, commandLine(['sh', '-c', script, 'sh', ...list]));
        expect(stdout.split('\0').slice(0, -1)).toEqual(list);
      }),
      { numRuns: 150 },
    );
  });
});

describe('a limit', () => {
  it('of the command ends it on the node too', async () => {
    const command = 'echo $$ > deadline.pid; exec sleep 300';
    const fault = await on(0, command, { commandTimeout: 300 }).catch((error: unknown) => error);
    expect(fault).toMatchObject({ kind: 'deadline', message: expect.stringContaining('within 0.3 s') });
    await expect.poll(() => isRunning('deadline.pid')).toBe(false);
  });

  it('of connecting ends the waiting for a node that is silent', async () => {
    const fault = await on(hanging, 'true', { connectTimeout: 200 }).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(Unreachable);
    expect((fault as Fault).message).toBe(
      `its sshd at ${lab.addresses[hanging]}:${lab.port} did not answer within 0.2 s.`,
    );
  });

  it('of what is kept cuts the rest and says so', async () => {
    const output = new CollectedOutput(1_000);
    await client.exec(targetOf(lab, 0), 'head -c 5000 /dev/zero', output, { signal: never });
    expect(output.text('stdout')).toBe('\0'.repeat(1_000));
    expect(output.note).toBe('The output was cut after 1000 bytes; 4000 more are not shown.');
  });

  it('cuts no character in two', async () => {
    const output = new CollectedOutput(7);
    await client.exec(targetOf(lab, 0), 'printf äöü€€', output, { signal: never });
    expect(output.text('stdout')).toBe('äöü');
  });
});

describe('cancelling', () => {
  it('ends the waiting at once and what runs on the node', async () => {
    const controller = new AbortController();
    const work = on(0, 'echo $$ > cancel.pid; exec sleep 300', { signal: controller.signal });
    await expect.poll(() => isRunning('cancel.pid')).toBe(true);
    controller.abort(new Fault('invalid', 'The run was cancelled.'));
    expect(await complaint(work)).toBe('The run was cancelled.');
    await expect.poll(() => isRunning('cancel.pid')).toBe(false);
  });

  it('kills what does not want to end', async () => {
    const controller = new AbortController();
    const command = `trap '' TERM; echo $$ > stubborn.pid; while :; do sleep 0.1; done`;
    const work = on(0, command, { signal: controller.signal });
    await expect.poll(() => isRunning('stubborn.pid')).toBe(true);
    controller.abort();
    expect(await complaint(work)).toBe('the command was cancelled.');
    await expect.poll(() => isRunning('stubborn.pid')).toBe(false);
  });

  it('works while the connection is opened, and before', async () => {
    const controller = new AbortController();
    const work = on(hanging, 'true', { signal: controller.signal });
    await pause(50);
    controller.abort();
    expect(await complaint(work)).toBe('the command was cancelled.');
    expect(await complaint(on(0, 'true', { signal: AbortSignal.abort() }))).toBe('the command was cancelled.');
  });

  it('of one does not disturb others on the same node', async () => {
    const controller = new AbortController();
    const cancelled = on(0, 'echo $$ > one.pid; exec sleep 300', { signal: controller.signal });
    const other = on(0, 'echo $$ > other.pid; while [ ! -e go ]; do sleep 0.1; done; echo fine');
    await expect.poll(() => isRunning('one.pid') && isRunning('other.pid')).toBe(true);
    controller.abort();
    expect(await complaint(cancelled)).toBe('the command was cancelled.');
    writeFileSync(join(lab.home(0), 'go'), '');
    expect(await other).toMatchObject({ stdout: 'fine\n', code: 0 });
  });
});

describe('a node that', () => {
  it('refuses is told as unreachable', async () => {
    const fault = await on(refusing, 'true').catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(Unreachable);
    expect((fault as Fault).message).toBe(`its sshd at ${lab.addresses[refusing]}:${lab.port} refused the connection.`);
  });

  it('has no such user is told with what to do', async () => {
    const target = targetOf(lab, 0, { user: 'nobody-such' });
    expect(await complaint(run(client, target, 'true'))).toMatch(
      /does not accept user "nobody-such" .*authorized_keys/,
    );
  });

  it('does not take the password is told so', async () => {
    const target = targetOf(lab, 0, { password: 'wrong' });
    expect(await complaint(run(client, target, 'true'))).toContain('with the password given');
  });

  it.each([
    ['-oProxyCommand=reboot', 'root'],
    ['127.0.0.1;reboot', 'root'],
    ['', 'root'],
    ['127.0.0.1', '-v'],
    ['127.0.0.1', 'a b'],
    ['127.0.0.1', ''],
  ])('is named %j for user %j is refused', async (address, user) => {
    expect(await complaint(run(client, targetOf(lab, 0, { address, user }), 'true'))).toMatch(/^"/);
  });

  it('loses the connection is told, also while a command runs', async () => {
    const work = on(2, 'sleep 300');
    await expect.poll(() => lab.connections(2)).toBe(1);
    await pause(200);
    lab.sever(2);
    expect(await complaint(work)).toMatch(/was lost|did not start/);
  });

  it('closed a kept connection is connected to again', async () => {
    expect(await on(2, 'echo one')).toMatchObject({ stdout: 'one\n' });
    lab.sever(2);
    // Without a pause the end has not been seen yet.
    expect(await on(2, 'echo two')).toMatchObject({ stdout: 'two\n' });
  });
});

describe('a gigabyte of output', () => {
  it('takes little memory when it is thrown away', async () => {
    const before = process.memoryUsage().rss;
    let seen = 0;
    let highest = 0;
    const count = (chunk: Buffer): void => {
      seen += chunk.length;
      highest = Math.max(highest, process.memoryUsage.rss());
    };
    const exit = await client.exec(
      targetOf(lab, 0),
      'head -c 1073741824 /dev/zero',
      { stdout: count, stderr: count },
      { signal: never },
    );
    expect(exit.code).toBe(0);
    expect(seen).toBe(2 ** 30);
    expect(highest - before).toBeLessThan(150 << 20);
  });

  it('waits on the node while nobody takes it', async () => {
    const controller = new AbortController();
    let seen = 0;
    const stuck = (chunk: Buffer): Promise<void> => {
      seen += chunk.length;
      return new Promise(() => undefined);
    };
    const output = { stdout: stuck, stderr: stuck };
    const work = client.exec(targetOf(lab, 3), 'head -c 1073741824 /dev/zero', output, { signal: controller.signal });
    await expect.poll(() => seen).toBeGreaterThan(0);
    await pause(500);
    expect(seen).toBeLessThan(256 * 1024);
    controller.abort();
    expect(await complaint(work)).toBe('the command was cancelled.');
    // The connection carries on.
    expect(await on(3, 'echo after')).toMatchObject({ stdout: 'after\n' });
  });

  it('arrives whole when it is taken slowly', async () => {
    const pieces: Buffer[] = [];
    const output = {
      async stdout(chunk: Buffer) {
        await pause(1);
        pieces.push(chunk);
      },
      stderr: () => undefined,
    };
    const exit = await client.exec(targetOf(lab, 3), 'seq 1 300000', output, { signal: never });
    expect(exit.code).toBe(0);
    const text = Buffer.concat(pieces).toString();
    expect(text).toBe(Array.from({ length: 300_000 }, (_, index) => `${index + 1}\n`).join(''));
  });

  it('ends the command when the taker fails', async () => {
    const output = {
      stdout: () => Promise.reject(new Fault('unavailable', 'The client left.')),
      stderr: () => undefined,
    };
    expect(await complaint(client.exec(targetOf(lab, 3), 'yes', output, { signal: never }))).toBe('The client left.');
    const broken = {
      stdout: () => {
        throw new Error('full');
      },
      stderr: () => undefined,
    };
    expect(await complaint(client.exec(targetOf(lab, 3), 'yes', broken, { signal: never }))).toContain('full');
  });
});

describe('connections', () => {
  it('are used again', async () => {
    const own = clientOf(lab);
    const parent = async () => (await run(own, targetOf(lab, 1), 'echo $PPID')).stdout;
    const first = await parent();
    expect(await parent()).toBe(first);
    await own.close();
  });

  it('are opened beside one that is in use', async () => {
    const own = clientOf(lab);
    const numbers = Array.from({ length: 30 }, (_, index) => `${index}\n`);
    const all = numbers.map((_, index) => run(own, targetOf(lab, 1), `sleep 0.3; echo ${index}`));
    expect((await Promise.all(all)).map(({ stdout }) => stdout)).toEqual(numbers);
    await own.close();
    await expect.poll(() => lab.connections(1)).toBeLessThanOrEqual(1);
  });

  it('are closed when they have been idle, when there are too many, and at the end', async () => {
    const own = clientOf(lab, { idle: 300, kept: 1 });
    await run(own, targetOf(lab, 2), 'true');
    await run(own, targetOf(lab, 3), 'true');
    await client.close();
    client = clientOf(lab);
    await expect.poll(() => lab.connections(2)).toBe(0);
    await expect.poll(() => lab.connections(3)).toBe(0);
    await own.close();
    expect(await complaint(run(own, targetOf(lab, 2), 'true'))).toBe('muster is shutting down; try again shortly.');
  });
});

/** Whether the process whose number a command has left in the home of node 0 is there. */
function isRunning(file: string): boolean {
  const path = join(lab.home(0), file);
  const pid = existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
  return pid !== '' && existsSync(`/proc/${pid}`);
}
