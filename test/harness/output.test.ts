// Who looks once at what a process has written fails on a busy machine, where it comes a moment later.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'rolldown/utils';
import { describe, expect, it } from 'vitest';

const checkout = join(import.meta.dirname, '../..');
/** They make what others read. */
const makers = ['test/harness/server.ts', 'test/harness/output.ts', 'test/bus/cluster.ts'];

const advice =
  'write await expect.poll(() => server.output()).toContain(…), said(server, /…/) for a part of it, written(server) for what must not be in it, or end the process before';

/** A part of a program as its parser has it. */
interface Syntax {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

const isSyntax = (value: unknown): value is Syntax => typeof (value as Syntax | null)?.type === 'string';
const isWithin = (part: Syntax, whole: Syntax | undefined): boolean =>
  !whole || (part.start >= whole.start && part.end <= whole.end);
const isFunction = ({ type }: Syntax): boolean => /^(ArrowFunctionExpression|Function\w+)$/.test(type);
/** A function that calls what it is given until it holds. */
const isPoll = (callee: string): boolean => /^((expect\.)?poll|until|waitFor|vi\.waitFor)$/.test(callee);

/** `file:line: advice` of each place where output() of a process is looked at once, while the process may run. */
function offences(file: string, code: string): string[] {
  const { program, errors } = parseSync(file, code);
  expect(errors).toEqual([]);
  const textOf = ({ start, end }: Syntax): string => code.slice(start, end);
  const parents = new Map<Syntax, Syntax>();
  const all: Syntax[] = [];
  const visit = (value: unknown, parent: Syntax | undefined): void => {
    if (Array.isArray(value)) for (const each of value) visit(each, parent);
    if (!isSyntax(value)) return;
    all.push(value);
    if (parent) parents.set(value, parent);
    for (const member of Object.values(value)) visit(member, value);
  };
  visit(program, undefined);

  /** What it is a part of, the nearest first. */
  const around = (part: Syntax): Syntax[] => {
    const parent = parents.get(part);
    return parent ? [parent, ...around(parent)] : [];
  };
  const isArgumentOfPoll = (part: Syntax): boolean => {
    const parent = parents.get(part);
    return (
      parent?.type === 'CallExpression' &&
      parent['callee'] !== part &&
      isPoll(textOf(parent['callee'] as Syntax).replaceAll(/\s/g, ''))
    );
  };
  /** A function that only polls call, whatever its name is. */
  const isPolled = (looking: Syntax): boolean => {
    if (isArgumentOfPoll(looking)) return true;
    const parent = parents.get(looking);
    if (parent?.type !== 'VariableDeclarator') return false;
    const name = textOf(parent['id'] as Syntax).replace(/:.*$/s, '');
    const isUse = (each: Syntax): boolean =>
      each.type === 'Identifier' &&
      each['name'] === name &&
      each !== parent['id'] &&
      isWithin(each, around(parent).find(isFunction));
    const uses = all.filter(isUse);
    return uses.length > 0 && uses.every(isArgumentOfPoll);
  };
  /** Whether a statement before it, in the same function, waits for the end of the process. */
  const hasEnded = (call: Syntax, owner: string): boolean => {
    const child = owner === '' ? 'child' : `${owner}.child`;
    const ends = [`${owner}.stop()`, `${owner}.kill()`, `exitOf(${child})`].map((end) => `await ${end}`);
    const before = code.slice(around(call).find(isFunction)?.start ?? 0, call.start);
    return ends.some((end) => before.includes(end));
  };
  const isWrong = (call: Syntax): boolean => {
    const callee = call['callee'] as Syntax;
    const owner = callee.type === 'MemberExpression' ? textOf(callee['object'] as Syntax) : '';
    const looking = around(call).find(isFunction);
    const isTold = around(call).some(({ type }) => type === 'ThrowStatement');
    return !isTold && !(looking && isPolled(looking)) && !hasEnded(call, owner);
  };
  return all
    .filter((part) => part.type === 'CallExpression' && /(^|\.)output$/.test(textOf(part['callee'] as Syntax)))
    .filter((call) => (call['arguments'] as unknown[]).length === 0)
    .filter(isWrong)
    .map(({ start }) => `${file}:${code.slice(0, start).split('\n').length}: ${advice}`);
}

describe('what a process has written', () => {
  it('is read in a poll, or when the process has ended', () => {
    const files = globSync('test/**/*.ts', { cwd: checkout }).filter((file) => !makers.includes(file));
    const read = files.map((file) => [file, readFileSync(join(checkout, file), 'utf8')] as const);
    const speaking = read.filter(([file, code]) => code.includes('output()') && file !== 'test/harness/output.test.ts');
    expect(speaking.length).toBeGreaterThan(20);
    expect(speaking.flatMap(([file, code]) => offences(file, code))).toEqual([]);
  });

  it.each([
    ['once', "expect(server.output()).toContain('x')"],
    ['once, from a lab', 'find(lab.server.output())'],
    ['once, by its own name', 'expect(output()).toMatch(/x/)'],
    ['in a poll, and then once', 'const lines = () => server.output(); await expect.poll(lines).toBe(1); lines()'],
    ['after another has ended', "await other.stop(); expect(server.output()).toContain('x')"],
  ])('is found where it is read %s', (_, code) => {
    expect(offences('x.ts', `async () => {\n${code};\n}`)).toEqual([`x.ts:2: ${advice}`]);
  });

  it.each([
    ['in a poll', "await expect.poll(() => server.output()).toContain('x')"],
    ['in a wait', "await until(() => server.output().includes('x'))"],
    ['in a poll by a name', 'const lines = (): number => output().length; await expect.poll(lines).toBe(1)'],
    ['when the process has ended', "await server.stop(); expect(server.output()).toContain('x')"],
    ['when the process has ended by itself', 'await exitOf(child); expect(output()).toMatch(/x/)'],
    ['by who says what went wrong', 'throw new Error(server.output())'],
  ])('may be read %s', (_, code) => {
    expect(offences('x.ts', `async () => { ${code}; }`)).toEqual([]);
  });
});
