import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import { isolationProblem, runProgram } from '../../src/work/program.ts';
import type { ProgramOptions } from '../../src/work/messages.ts';
import { scratchDirectory } from '../harness/store.ts';

const scratch = scratchDirectory();
afterAll(() => rmSync(scratch, { recursive: true }));

const never = new AbortController().signal;

async function run(file: string, args: readonly string[], options: ProgramOptions = {}, signal = never) {
  const lines: string[] = [];
  const { code } = await runProgram(file, args, options, { signal, isolated: true, tell: (line) => lines.push(line) });
  return { code, lines };
}

test('this machine lets namespaces be made, without which the other tests say nothing', async () => {
  expect(await isolationProblem()).toBeUndefined();
});

describe('a program of long work', () => {
  test('tells what it prints, on both streams', async () => {
    const { lines } = await run('sh', ['-c', 'echo out; echo err >&2; printf end']);
    expect(lines.sort()).toEqual(['end', 'err', 'out']);
  });

  test('gets its arguments as they are, and no shell', async () => {
    const { lines } = await run('printf', ['%s\n', '$(id)', '`id`', '-n; id', '']);
    expect(lines).toEqual(['$(id)', '`id`', '-n; id', '']);
    await expect(run('printf', ['a\0b'])).rejects.toThrow('zero byte');
  });

  test('has a small environment and what it is given besides', async () => {
    const { lines } = await run('env', [], { env: { EXTRA: 'yes' } });
    expect(lines.map((line) => line.split('=')[0]!).sort()).toEqual(['EXTRA', 'HOME', 'LANG', 'PATH']);
  });

  test('has no network unless it asks for it', async () => {
    const devices = async (options: ProgramOptions) => (await run('cat', ['/proc/net/dev'], options)).lines.length;
    expect(await devices({})).toBe(3);
    const here = readdirSync('/sys/class/net').length;
    expect(await devices({ network: true })).toBe(2 + here);
  });

  test('that fails says so with the last lines it printed, and its code may be expected', async () => {
    const script = ['-c', 'for i in $(seq 1 100); do echo line $i; done; exit 3'];
    const failure: unknown = await run('sh', script).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Fault);
    const { sentences, kind } = failure as Fault;
    expect(kind).toBe('invalid');
    expect(sentences[0]).toBe('sh ended with exit code 3.');
    expect(sentences.slice(1)).toEqual(Array.from({ length: 10 }, (_, i) => `line ${91 + i}`));
    expect(await run('sh', script, { expect: [0, 3] })).toMatchObject({ code: 3 });
    await expect(run('sh', ['-c', 'kill -TERM $$'])).rejects.toThrow('sh ended by signal SIGTERM.');
  });

  test('that is not installed, or has nowhere to run, is an error that says so', async () => {
    await expect(run('no-such-program', [])).rejects.toThrow('The program no-such-program is missing on this machine');
    await expect(run('true', [], { cwd: join(scratch, 'nowhere') })).rejects.toThrow('true could not be started');
  });

  test('reads what it is given: a text, bytes or a stream, or not all of it', async () => {
    for (const input of ['text\n', Buffer.from('text\n'), Readable.from(['te', 'xt\n'])])
      expect((await run('cat', [], { input })).lines).toEqual(['text']);
    expect((await run('head', ['-c', '4'], { input: 'x'.repeat(10_000_000) })).lines).toEqual(['xxxx']);
    const broken = Readable.from(
      (async function* () {
        yield 'a';
        throw new Error('the source broke');
      })(),
    );
    await expect(run('cat', [], { input: broken })).rejects.toThrow('the source broke');
  });

  test('may hand over its output as it is, all of it', async () => {
    let bytes = 0;
    const options = { stdout: (chunk: Buffer) => (bytes += chunk.length) };
    const { lines } = await run('sh', ['-c', 'head -c 20000000 /dev/zero; echo said >&2'], options);
    expect([bytes, lines]).toEqual([20_000_000, ['said']]);
  });

  test('may give its lines to whoever calls it instead', async () => {
    const own: string[] = [];
    const { lines } = await run('echo', ['mine'], { output: (line) => own.push(line) });
    expect([own, lines]).toEqual([['mine'], []]);
  });

  test('is not waited for because of what it has left behind', async () => {
    const { lines } = await run('sh', ['-c', 'echo parent; sleep 30 & exit 0']);
    expect(lines).toEqual(['parent']);
  });

  test('ends when the run is cancelled', async () => {
    const controller = new AbortController();
    const running = run('sleep', ['3600'], {}, controller.signal);
    await pause(50);
    controller.abort(new Fault('invalid', 'The run was cancelled.'));
    await expect(running).rejects.toThrow('The run was cancelled.');
    await expect(run('true', [], {}, controller.signal)).rejects.toThrow('The run was cancelled.');
  });
});
