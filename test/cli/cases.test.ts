import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { muster, program } from './command-line.ts';
import { runHere } from './replay/run.ts';

/**
 * What xCAT's own test cases ask of its commands, as tables: lines of a case are the exit status (or `!0` for any but 0) and the command,
 * and below it what its output must have (`+`), must not have (`-`) and must be (`=`), and what it reads (`<`, with \n and \t). DIR is a
 * directory of the test's own. Variables of the environment stand before the command, as in a shell. A case leaves nothing behind.
 */
interface Step {
  readonly status: string;
  readonly command: string;
  readonly marks: { readonly mark: string; readonly text: string }[];
}

interface Case {
  readonly name: string;
  readonly steps: Step[];
}

const directory = join(import.meta.dirname, '../data/cli/cases');

function casesIn(file: string): Case[] {
  const cases: Case[] = [];
  for (const line of readFileSync(join(directory, file), 'utf8').split('\n')) {
    const [, name] = /^case (\S+)$/.exec(line) ?? [];
    const [, status, command] = /^(!?\d+) (.+)$/.exec(line) ?? [];
    const [, mark, text] = /^ {2}([-+=<]) ?(.*)$/.exec(line) ?? [];
    if (name !== undefined) cases.push({ name, steps: [] });
    else if (command !== undefined) cases.at(-1)!.steps.push({ status: status!, command, marks: [] });
    else if (mark !== undefined) cases.at(-1)!.steps.at(-1)!.marks.push({ mark, text: text! });
    else if (line !== '') throw new Error(`${file}: "${line}" is no line of a case.`);
  }
  return cases;
}

/** Words between single quotes stay together. */
const wordsOf = (command: string): string[] =>
  [...command.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''));

/** The variables that stand before a command, and its words. */
function callOf(words: readonly string[]): { readonly argv: string[]; readonly variables: Record<string, string> } {
  const first = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
  return {
    argv: words.slice(first),
    variables: Object.fromEntries(words.slice(0, first).map((word) => word.split('='))),
  };
}

const unescaped = (text: string): string => text.replaceAll('\\n', '\n').replaceAll('\\t', '\t');

let server: TestServer;
let own: string;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startServer({ environment: { MUSTER_NEW_DATABASE: 'usual' } });
  own = mkdtempSync(join(tmpdir(), 'muster-cases-'));
  env = { HOME: own, MUSTER_SOCKET: join(server.data, 'muster.sock') };
});
afterAll(async () => {
  rmSync(own, { recursive: true, force: true });
  await server.stop();
});

const files = readdirSync(directory);
const counted = files.reduce((sum, file) => sum + casesIn(file).length, 0);

it('are at least 120, and each has a name of its own', () => {
  expect(counted).toBeGreaterThanOrEqual(120);
  const names = files.flatMap((file) => casesIn(file).map(({ name }) => name));
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

describe.each(files)('%s', (file) => {
  it.each(casesIn(file).map((each) => [each.name, each.steps] as const))('%s', async (_, steps) => {
    for (const { status, command, marks } of steps) {
      const here = (text: string): string => text.replaceAll('DIR', own);
      const stdin = unescaped(marks.find(({ mark }) => mark === '<')?.text ?? '');
      const { argv, variables } = callOf(wordsOf(here(command)));
      const { code, stdout, stderr } = await runHere({ argv, stdin, env: { ...env, ...variables } });
      const output = `${stdout}${stderr}`;
      const shown = `${command}\n${output}`;
      if (status === '!0') expect(code, shown).not.toBe(0);
      else expect(code, shown).toBe(Number(status));
      for (const { mark, text } of marks) {
        if (mark === '+') expect(output, command).toContain(here(text));
        if (mark === '-') expect(output, command).not.toContain(here(text));
        if (mark === '=') expect(output.trim(), command).toBe(unescaped(here(text)));
      }
    }
  });
});

it('tabdump -d says of every column of every table what it is for', async () => {
  const printed = async (...argv: string[]): Promise<string[]> => {
    const { code, stdout, stderr } = await runHere({ argv, stdin: '', env });
    expect([code, stderr], argv.join(' ')).toEqual([0, '']);
    return stdout.trimEnd().split('\n');
  };
  for (const table of await printed('tabdump')) {
    const [head = ''] = await printed('tabdump', table);
    const texts = await printed('tabdump', '-d', table);
    expect(texts.map((line) => line.split(':', 1)[0]!).sort(), table).toEqual(head.slice(1).split(',').sort());
    expect(
      texts.filter((line) => !/^[\w-]+:\t+\S/.test(line)),
      table,
    ).toEqual([]);
  }
});

it('copycds and imgexport take relative paths from the working directory', async () => {
  const image = 'osvers=debian12 osarch=x86_64 profile=compute provmethod=netboot imagetype=linux'.split(' ');
  const here = (argv: readonly string[]) => runHere({ argv: [...argv], stdin: '', env });
  expect((await here(['mkdef', '-t', 'osimage', '-o', 'testimage', ...image])).code).toBe(0);
  const medium = await here(['copycds', 'nosuch/medium.iso']);
  expect([medium.code, medium.stderr]).toEqual([1, expect.stringContaining(join(process.cwd(), 'nosuch/medium.iso'))]);
  const bundle = await here(['imgexport', 'testimage', 'nosuch/bundle.tgz']);
  expect([bundle.code, bundle.stderr]).toEqual([1, expect.stringContaining(join(process.cwd(), 'nosuch'))]);
  expect((await here(['rmdef', '-t', 'osimage', 'testimage'])).code).toBe(0);
});

it('what is wrong with a call stands below the help, also in a pipe', async () => {
  const there = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', TMPDIR: own, ...env };
  for (const [call, last] of [
    ['chdef n1 -n n2 rack=r1', /: The '-n' option changes the name alone: set attributes by another call\.$/],
    ['mkdef -z n1', /: Cannot use '-z' with '-o' or a noderange\.$/],
    ['lskitdeployparam', /^Error: Either kit names or kit component names must be specified\.$/],
    ['lsdef -t site nosuch', /: Could not find an object named 'nosuch' of type 'site'\.$/],
    ['lsdef -t site rack=r1', /^Warning: rack=r1 is ignored/],
  ] as const) {
    const { stdout } = await program('/bin/sh', ['-c', `${muster} ${call} 2>&1 | cat`], there);
    expect(stdout.trimEnd().split('\n').at(-1), stdout).toMatch(last);
  }
});

it('mkdef -z refuses a name without its colon, whose lines would go to the object before', async () => {
  const stdin = 'z4:\n  objtype=node\n  groups=all\n\nz5\n  objtype=node\n  groups=b\n';
  const { code, stderr } = await runHere({ argv: ['mkdef', '-z'], stdin, env });
  expect([code, stderr]).toEqual([1, expect.stringContaining('Line 5 of the stanzas')]);
  expect((await runHere({ argv: ['lsdef', 'z4'], stdin: '', env })).code).toBe(1);
});

it('tabrestore refuses a header that names a column twice, of which one would be dropped', async () => {
  const file = join(own, 'nodepos.csv');
  writeFileSync(file, '#node,rack,rack\n"n1","r1","r2"\n');
  const { code, stderr } = await runHere({ argv: ['tabrestore', file], stdin: '', env });
  expect([code, stderr]).toEqual([1, expect.stringContaining('The header names the column "rack" twice.')]);
  expect((await runHere({ argv: ['tabdump', 'nodepos'], stdin: '', env })).stdout).not.toContain('r2');
});
