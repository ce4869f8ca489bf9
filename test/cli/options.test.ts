import { describe, expect, it } from 'vitest';
import { type OptionRules, parseOptions } from '../../src/cli/options.ts';

const table = {
  'help|h|?': 'flag',
  'long|l': 'flag',
  's|short': 'flag',
  'type|t': 'value',
  'w|where': 'values',
  template: 'optional',
  version: 'flag',
  verbose: 'flag',
} as const;

/** What was found, as one text. */
function found(line: string, rules?: OptionRules): string {
  const { operands, unknown, lacking, doubled, has, value, values } = parseOptions(
    line.split(' ').filter(Boolean),
    table,
    rules,
  );
  const names = ['help', 'long', 's', 'type', 'w', 'template', 'version', 'verbose'].filter(has);
  const shown = names.map((name) => (name === 'w' ? `w=${values('w').join('+')}` : `${name}=${value(name)}`));
  return [
    ...shown,
    ...operands.map((each) => `(${each})`),
    ...unknown.map((each) => `?${each}`),
    ...lacking.map((each) => `!${each}`),
    ...doubled.map((each) => `+${each}`),
  ].join(' ');
}

describe('options', () => {
  it.each([
    ['n1 -l', 'long= (n1)'],
    ['-ls n1', 'long= s= (n1)'],
    ['-t node', 'type=node'],
    ['-tnode', 'type=node'],
    ['-lt node', 'long= type=node'],
    ['--type=node', 'type=node'],
    ['--type node', 'type=node'],
    ['--ty node', 'type=node'],
    ['-t a -t b', 'type=b +t'],
    ['-t a --type=b', 'type=b +type'],
    ['-t a -t a', 'type=a'],
    ['-l -l', 'long='],
    ['--template x --template y', 'template=y +template'],
    ['-w a==1 -w b==2', 'w=a==1+b==2'],
    ['--ver', '?ver'],
    ['--vers', 'version='],
    ['-?', 'help='],
    ['-x n1', '(n1) ?x'],
    ['--nosuch', '?nosuch'],
    ['--long=1', '?long'],
    ['-t', '!t'],
    ['--template', 'template='],
    ['--template x -l', 'long= template=x'],
    ['--template -l', 'long= template='],
    ['-- -l', '(-l)'],
    ['- n1', '(-) (n1)'],
  ])('%s', (line, expected) => {
    expect(found(line)).toBe(expected);
  });

  it('may be wanted before the operands', () => {
    expect(found('-l n1 -s', { optionsEndAt: 1 })).toBe('long= (n1) (-s)');
  });

  it('may be long ones with one dash', () => {
    expect(found('-type node -long', { unbundled: true })).toBe('long= type=node');
  });

  it('may be operands if they are unknown', () => {
    expect(found('-x --y -l', { passUnknown: true })).toBe('long= (-x) (--y)');
  });
});
