import { readdirSync } from 'node:fs';
import { Compile } from 'typebox/compile';
import { describe, expect, it } from 'vitest';
import type { Command } from '../../src/commands/command.ts';
import * as commands from '../../src/commands/index.ts';
import { commandFor } from '../../src/commands/registry.ts';
import { atOnce } from '../../src/core/slices.ts';
import { endpoints } from '../../src/rest/endpoints/index.ts';
import type { Endpoint } from '../../src/rest/endpoints/endpoint.ts';
import { roots } from '../../src/rest/endpoints/roots.ts';

const isCommand = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'kind' in value && 'line' in value;

it('lists every command that a file declares', async () => {
  const folder = new URL('../../src/commands/', import.meta.url);
  const files = readdirSync(folder).filter((file) => file !== 'index.ts');
  const modules = await Promise.all(files.map((file) => import(new URL(file, folder).href) as Promise<object>));
  const declared = modules.flatMap((module) => Object.entries(module).filter(([, value]) => isCommand(value)));
  expect(Object.keys(commands).sort()).toEqual(declared.map(([name]) => name).sort());
});

/** The segments of the example's path by the names that the row gives them. */
function paramsOf({ path, example }: Endpoint): Record<string, string> {
  const values = example.path.split('/');
  return Object.fromEntries(
    path.split('/').flatMap((piece, i) => (piece.startsWith('{') ? [[piece.slice(1, -1), values[i]!]] : [])),
  );
}

const wordsOf = (made: ReturnType<Command<unknown>['line']>): readonly string[] =>
  'next' in made ? atOnce(made) : made;

describe('the arguments that a row makes of its example', () => {
  const rows = endpoints.flatMap((row) =>
    roots.flatMap((root) =>
      row.only === undefined || row.only === root.prefix
        ? [[`${row.method} ${root.prefix}${row.path}`, root, row] as const]
        : [],
    ),
  );

  it.each(rows)('%s', (_name, root, row) => {
    const { body = {}, query = {} } = row.example;
    const args = row.args({
      root,
      params: paramsOf(row),
      query,
      body: body as object as Record<string, unknown>,
      lastEventId: undefined,
      files: undefined,
      expectsNodes: false,
      isUpgrade: false,
      csrf: undefined,
    });
    expect(Object.values(commands)).toContain(row.command);
    // As JSON they are what another program would send.
    const sent: unknown = JSON.parse(JSON.stringify(args));
    expect(Compile(row.command.args).Errors(sent)).toEqual([]);
    const { line } = row.command as Command<unknown>;
    expect(wordsOf(line(sent))).toEqual(wordsOf(line(args)));
  });
});

describe('a caller from outside', () => {
  it('gets a command by its name, with arguments that fit', () => {
    expect(commandFor('rmdef', { type: 'node', names: 'n1' }).command).toBe(commands.rmdef);
  });

  it.each([
    ['rmdeff', {}, 'There is no command "rmdeff".'],
    ['constructor', {}, 'There is no command "constructor".'],
    ['rmdef', { type: 'node' }, 'The arguments of rmdef are wrong: they must have required properties names.'],
    ['rmdef', { type: 'node', names: 7 }, 'The arguments of rmdef are wrong: names must be string.'],
  ])('is told what is wrong with %s %j', (name, args, sentence) => {
    expect(() => commandFor(name, args)).toThrow(sentence);
  });
});
