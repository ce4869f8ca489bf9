import * as fc from 'fast-check';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isAlive } from '../lab/child.ts';
import { errorOf } from '../harness/errors.ts';
import { addUser } from '../harness/users.ts';
import { type RemoteWorld, startWorld } from './world.ts';

let world: RemoteWorld;
beforeAll(async () => {
  world = await startWorld({ count: 4, prefix: '127.126', port: 2601 });
});
afterAll(() => world.stop());

const shell = (...args: Parameters<RemoteWorld['shell']>) => world.shell(...args);
const stream = (...args: Parameters<RemoteWorld['stream']>) => world.stream(...args);

describe('nodeshell', () => {
  it.each<[string, unknown, object, string[]]>([
    ['a command', 'echo one', {}, ['one']],
    ['several commands', ['echo one', 'echo two'], {}, ['one', 'two']],
    ['commands that end with a comment or &', ['echo one # not two', 'true &', 'echo two'], {}, ['one', 'two']],
    ['a program and its arguments', [['printf', '%s|', 'a b', '$HOME', "it's"]], {}, ["a b|$HOME|it's|"]],
    ['a variable', 'echo "$A"', { ENV: { A: 'b' } }, ['b']],
    ['a number and a boolean as variables', 'echo $A $B', { ENV: { A: 1, B: true } }, ['1 true']],
    ['blank lines within', 'echo; echo x; echo', {}, ['', 'x', '']],
    ['standard error behind standard output', 'echo e >&2; echo o', {}, ['o', 'e']],
    ['no output', 'true', {}, []],
    ['-z', 'echo x', { raw: ['-z'] }, ['x', 'Remote_command_rc = 0']],
    ['-Q', 'echo x; echo y >&2', { raw: ['-Q'] }, []],
    ['-z and -Q together', 'echo x', { raw: '-zQ' }, ['Remote_command_rc = 0']],
    ['options with their values in one text', 'echo x', { raw: '-t 10 -f 2 -s -v -m' }, ['x']],
    ['an option with its value in one word', 'echo x', { raw: ['-t 10', '-f2', '--timeout=5'] }, ['x']],
    ['the command among the options', undefined, { raw: ['-t', '10', 'echo', 'x'] }, ['x']],
    ['no input', 'cat', {}, []],
  ])('runs %s', async (_name, command, more, lines) => {
    const reply = await shell('t0', command, more);
    expect([reply.status, reply.json]).toEqual([201, { t0: lines }]);
  });

  it('answers for every node, and folds equal outputs with xcoll=1', async () => {
    expect((await shell('t0-t3', 'echo $LAB_NAME')).json).toEqual({ t0: ['t0'], t1: ['t1'], t2: ['t2'], t3: ['t3'] });
    const folded = await shell('t0-t3', '[ $LAB_NAME = t2 ] && echo other || echo same', {}, { query: { xcoll: 1 } });
    expect(folded.json).toEqual({ 't0,t1,t3': ['same'], t2: ['other'] });
  });

  it.each([
    ['quotes', `it's "quoted"`],
    ['a newline', 'a\nb'],
    ['a substitution', '$(touch /tmp/muster-hostile) `id` ${HOME}'],
    ['shell characters', '; exit 3 & | < > * ? [a] ~ # \\ !'],
    ['blanks at the ends', '  x  '],
    ['nothing', ''],
    ['no ASCII', 'žluťoučký 漢字 🎉'],
    ['control characters', '\u0001\t\u001b[31m\u007f'],
  ])('keeps %s in a variable and in an argument as they are', async (_name, value) => {
    const [variable] = await stream('t0', 'printf %s "$HOSTILE"', { ENV: { HOSTILE: value } });
    expect(variable.value).toMatchObject({ stdout: value, code: 0 });
    const [argument] = await stream('t0', [['printf', '%s', value]]);
    expect(argument.value).toMatchObject({ stdout: value, code: 0 });
  });

  it('hands over any argument array unchanged', async () => {
    const word = fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => text.replaceAll('\0', ''));
    await fc.assert(
      fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 8 }), async (words) => {
        const [result] = await stream('t0', [['printf', '%s\\0', ...words]]);
        expect(result.value.stdout.split('\0').slice(0, -1)).toEqual(words);
      }),
      { numRuns: 40 },
    );
  });

  it.each<[string, unknown, object, number, number]>([
    ['no command', undefined, {}, 400, 3],
    ['an empty list of commands', [], {}, 400, 3],
    ['an empty command', '', {}, 400, 3],
    ['an empty command in a list', [''], {}, 400, 3],
    ['a script with a null byte in its path', '/x\0', { raw: ['-e'] }, 400, 2],
    ['a file with an environment with a null byte in its path', 'date', { raw: ['-E', '/x\0'] }, 400, 2],
    ['an unknown option', 'date', { raw: ['-y'] }, 403, 1],
    ['an unknown long option', 'date', { raw: ['--constructor'] }, 403, 1],
    ['an option that is not offered', 'date', { raw: ['-i', '/image'] }, 403, 1],
    ['an option without its value', 'date', { raw: ['-t'] }, 403, 1],
    ['a timeout that is no number', 'date', { raw: ['-t', 'soon'] }, 403, 1],
    ['a fan-out of 0', 'date', { raw: ['-f', '0'] }, 403, 1],
    ['a command in both places', 'date', { raw: ['ls'] }, 403, 1],
    ['a variable whose name is none', 'date', { ENV: { 'A;id': 'x' } }, 400, 2],
    ['a null byte', 'echo \0', {}, 400, 2],
    ['a command that is too long', 'x'.repeat(200_000), {}, 400, 2],
    ['a user whose name is none', 'date', { raw: ['-l', '-oProxyCommand=id'] }, 403, 1],
    ['a variable that is an object', 'date', { ENV: { A: {} } }, 400, 2],
    ['an unknown member', 'date', { commands: 1 }, 400, 2],
    ['-K without a password', undefined, { raw: ['-K'] }, 400, 3],
    ['a relative script', 'script', { raw: ['-e'] }, 403, 1],
  ])('refuses %s', async (_name, command, more, status, code) => {
    expect(errorOf(await shell('t0', command, more))).toEqual([status, code]);
  });

  it.each<[unknown, string]>([
    [undefined, 'There is no command to run: "command" is a text for the shell, or an array'],
    ['', 'There is no command to run'],
    [[], 'There is no command to run'],
    [[''], 'There is no command to run'],
    [' ', 'There is no command to run'],
    [[[]], 'An array within "command" is a program and its arguments; the program is missing.'],
    [['date', []], 'An array within "command" is'],
    [[['', 'x']], 'An array within "command" is'],
    [{}, 'command must be string or must be array.'],
    [5, 'command must be string or must be array.'],
    [['date', {}], 'command/1 must be string or must be array.'],
    [[['date', 1]], 'command/0/1 must be string.'],
  ])('says what is wrong with the command %j', async (command, sentence) => {
    const reply = await shell('t0', command);
    expect(reply.status).toBe(400);
    expect(reply.json.error[0]).toContain(sentence);
  });

  it.each<[string, string, string[], object]>([
    ['an exit code', 'exit 3', ['the command ended with exit code 3.'], { code: 3 }],
    ['a signal', 'kill -KILL $$', ['the command was ended by signal SIGKILL.'], { signal: 'SIGKILL' }],
    [
      'an exit code and what was said',
      'echo bad >&2; exit 1',
      ['bad', 'the command ended with exit code 1.'],
      { code: 1 },
    ],
    ['what was said elsewhere', 'echo a; echo b; exit 1', ['a', 'the command ended with exit code 1.'], { code: 1 }],
  ])('reports %s of a node as its error', async (_name, command, sentences, end) => {
    const reply = await shell('t0,t1', `[ $LAB_NAME = t1 ] || { ${command}; }`);
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error).toEqual(sentences.map((sentence) => `t0: ${sentence}`));
    const results = (await world.server.ok('GET', `/runs/${String(reply.headers['x-muster-run'])}`)).results;
    expect(results).toContainEqual({ node: 't1', value: { stdout: '', stderr: '', code: 0 } });
    expect(results).toContainEqual({ node: 't0', error: sentences.at(-1), output: expect.objectContaining(end) });
  });

  it('tells streams and exit codes apart in NDJSON', async () => {
    const lines = await stream('t0,t1', 'echo out; echo err >&2; [ $LAB_NAME = t0 ] || exit 7');
    const summary = lines.pop();
    expect(lines.sort((a, b) => (a.node < b.node ? -1 : 1))).toEqual([
      { node: 't0', value: { stdout: 'out\n', stderr: 'err\n', code: 0 } },
      {
        node: 't1',
        error: 'the command ended with exit code 7.',
        output: { stdout: 'out\n', stderr: 'err\n', code: 7 },
      },
    ]);
    expect(summary).toEqual({ summary: { nodes: 2, ok: 1, failed: 1, errorcode: 1 } });
  });

  it('begins its reply in NDJSON before the first result, so that the run can be followed', async () => {
    const fifo = join(world.sources, 'answer');
    execFileSync('mkfifo', ['-m', '666', fifo]);
    const begun = await world.begin('/nodes/t0/nodeshell', { command: `cat ${fifo}` });
    expect(await world.server.ok('GET', `/runs/${begun.run}`)).toMatchObject({ state: 'running' });
    await writeFile(fifo, 'late');
    expect((await begun.lines)[0]).toMatchObject({ node: 't0', value: { stdout: 'late' } });
  });

  it('keeps the blank behind the name of the node at /xcatws and drops empty lines, as the reference system does', async () => {
    const command = 'echo one; echo; echo "  two"';
    expect((await shell('t0', command, {}, { root: '/xcatws' })).json).toEqual({ t0: [' one', '   two'] });
    expect((await shell('t0', command)).json).toEqual({ t0: ['one', '', '  two'] });
  });

  it('counts output on standard error as a failure at /xcatws, as the reference system does', async () => {
    const command = 'echo out; echo warning >&2';
    const reply = await shell('t0', command, {}, { root: '/xcatws' });
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error[0]).toBe('t0: warning');
    expect((await shell('t0', command)).json).toEqual({ t0: ['out', 'warning'] });
  });

  it('stops a command that takes too long', async () => {
    const reply = await shell('t0', 'echo begun; sleep 60', { raw: ['-t', '1'] });
    expect(errorOf(reply)).toEqual([408, 4]);
    expect(reply.json.error).toEqual(['t0: begun', 't0: the command did not end within 1 s and was stopped.']);
  });

  it('kills the command when the client leaves', async () => {
    const begun = await world.begin('/nodes/t0,t1/nodeshell', { command: sleepOn('t1') });
    const pid = await sleeperOf(1);
    begun.leave();
    await expect.poll(() => isAlive(pid)).toBe(false);
    const { results } = await world.server.ok('GET', `/runs/${begun.run}`);
    expect(results).toContainEqual({ node: 't1', error: 'The client left.', output: expect.anything() });
  });

  it('goes on without a client that would rather not wait, until it ends or is cancelled', async () => {
    const headers = { Prefer: 'respond-async' };
    const reply = await shell('t0,t3', sleepOn('t3'), {}, { headers });
    const run = `/runs/${String(reply.headers['x-muster-run'])}`;
    expect([reply.status, reply.text, reply.headers['location']]).toEqual([202, '', `/muster${run}`]);
    const pid = await sleeperOf(3);
    rmSync(join(world.lab.home(3), 'sleeper'));
    await expect.poll(() => world.server.ok('GET', run)).toMatchObject({ state: 'running', nodes: 2, ok: 1 });
    expect(isAlive(pid)).toBe(true);
    await world.server.ok('DELETE', run);
    await expect.poll(() => isAlive(pid)).toBe(false);
    await expect
      .poll(() => world.server.ok('GET', run))
      .toMatchObject({ state: 'cancelled', ok: 1, failed: 1, finished: expect.anything() });
  });

  it('kills the command when the run is cancelled', async () => {
    const begun = await world.begin('/nodes/t0,t2/nodeshell', { command: sleepOn('t2') });
    const pid = await sleeperOf(2);
    await world.server.ok('DELETE', `/runs/${begun.run}`);
    const lines = await begun.lines;
    expect(lines).toContainEqual({ node: 't2', error: 'The run was cancelled.', output: { stdout: '', stderr: '' } });
    await expect.poll(() => isAlive(pid)).toBe(false);
  });
});

/** Sleeps on one place only, and leaves its number in the home directory. */
const sleepOn = (name: string): string => `[ $LAB_NAME != ${name} ] || { echo $$ > sleeper; exec sleep 300; }`;

async function sleeperOf(index: number): Promise<number> {
  const file = join(world.lab.home(index), 'sleeper');
  await expect.poll(() => read(file)).toMatch(/^\d+\n$/);
  return Number(read(file));
}

describe('a script of the management node (-e)', () => {
  const script = (): string => join(world.sources, 'hello.sh');
  beforeAll(() => {
    writeFileSync(script(), '#!/bin/bash\necho "$# $1"; cat; exit ${2:-0}\n');
    writeFileSync(join(world.sources, `it's a "script".sh`), '#!/bin/sh\necho blank\n');
    writeFileSync(join(world.sources, 'settings'), "export FROM_FILE='a b'\n");
    symlinkSync('/etc/hostname', join(world.sources, 'link'));
  });

  it('is run with its arguments and leaves nothing behind', async () => {
    const more = { raw: ['-e'], ENV: { TMPDIR: world.lab.home(3) } };
    expect((await shell('t3', `${script()} 'a b'`, more)).json).toEqual({ t3: ['1 a b'] });
    expect((await shell('t3', [[script(), '$x']], more)).json).toEqual({ t3: ['1 $x'] });
    expect((await shell('t3', [[join(world.sources, `it's a "script".sh`)]], more)).json).toEqual({ t3: ['blank'] });
    const failing = await shell('t3', `${script()} x 5`, more);
    expect(failing.json.error).toEqual(['t3: 2 x', 't3: the command ended with exit code 5.']);
    expect(readdirSync(world.lab.home(3))).toEqual(['.bashrc']);
  });

  it('may be preceded by a file with an environment (-E)', async () => {
    const raw = ['-E', join(world.sources, 'settings')];
    expect((await shell('t0', 'echo "$FROM_FILE"', { raw })).json).toEqual({ t0: ['a b'] });
  });

  it.each(['/etc/hostname', '/nosuch/file', 'SOURCES/link', 'SOURCESx', 'DATA/secret.key', 'DATA/ssh/id_ed25519'])(
    'must not be %s without full rights',
    async (path) => {
      const real = path.replace('SOURCES', world.sources).replace('DATA', world.server.data);
      const token = await addUser(world.server, 'clerk');
      await world.server.ok('PUT', '/policy/60', { name: 'clerk', commands: 'xdsh', rule: 'allow' });
      const reply = await shell('t0', real, { raw: ['-e'] }, { token });
      expect(errorOf(reply)).toEqual([403, 1]);
      expect(reply.json.error[0]).toContain('outside the directories');
    },
  );
});

const read = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};
