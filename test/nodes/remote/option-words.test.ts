import { describe, expect, it } from 'vitest';
import {
  lineAs,
  type Option,
  optionWords,
  parseOptions,
  readShellRequest,
  type ShellBody,
} from '../../../src/nodes/remote/shell-request.ts';

const known: Record<string, Option> = {
  a: { name: 'all' },
  all: { name: 'all' },
  b: { name: 'both' },
  t: { name: 'time', takesValue: true },
  time: { name: 'time', takesValue: true },
  r: { name: 'r', refused: 'it is old' },
};

describe('options', () => {
  it.each<[string | string[], Record<string, string>, string[]]>([
    ['', {}, []],
    ['-a', { all: '' }, []],
    ['-ab', { all: '', both: '' }, []],
    ['-t 5', { time: '5' }, []],
    ['-t5', { time: '5' }, []],
    ['-abt5', { all: '', both: '', time: '5' }, []],
    ['--time=5 --all', { time: '5', all: '' }, []],
    ['--time 5', { time: '5' }, []],
    ['-t 5 -t 6', { time: '6' }, []],
    ['-a ls -b', { all: '' }, ['ls', '-b']],
    ['-a -- -b', { all: '' }, ['-b']],
    ['-', {}, ['-']],
    [['-t', '5'], { time: '5' }, []],
    [['-t 5', '-a'], { time: '5', all: '' }, []],
    [['--time  two words '], { time: 'two words' }, []],
    [['ls -l'], {}, ['ls -l']],
    [['-t', ''], { time: '' }, []],
  ])('%j are %j and the words %j', (raw, options, words) => {
    const parsed = parseOptions('test', known, optionWords(raw));
    expect([Object.fromEntries(parsed.options), parsed.words]).toEqual([options, words]);
  });

  it.each([
    ['-x', '"-x" is not an option of test'],
    ['-ax', '"-x" is not an option'],
    ['--no', '"--no" is not an option'],
    ['--toString', 'is not an option'],
    ['-t', '"-t" of test lacks its value'],
    ['--all=yes', 'takes no value'],
    ['-r', 'is not offered: it is old'],
  ])('%s is refused', (raw, sentence) => {
    expect(() => parseOptions('test', known, optionWords(raw))).toThrow(sentence);
  });
});

describe('the argument line of xdsh', () => {
  it.each<[ShellBody, string]>([
    [{ command: 'date' }, 'date'],
    [{ command: ['date', 'ls'] }, 'date;ls'],
    [{ command: [['echo', 'a b']] }, "'echo' 'a b'"],
    [{ command: 'a\nb' }, 'a;b'],
    [{ command: 'date', raw: '-z -t 5 -lbob -s' }, '-l bob -t 5 -z date'],
    [{ command: 'date', ENV: { DSH_TO_USERID: 'bob' } }, '-l bob date'],
    [{ command: 'date', raw: '-l eve', ENV: { DSH_TO_USERID: 'bob' } }, '-l eve date'],
    [{ command: 'date', ENV: { A: 'secret', B: 1 } }, 'env A=xxxxxxxx B=xxxxxxxx date'],
    [{ raw: '-K', ENV: { DSH_REMOTE_PASSWORD: 'secret' } }, '-K'],
    [{ command: '/x/script a', raw: ['-e', '--sudo'] }, '-e --sudo /x/script a'],
  ])('of %j is %s', (body, line) => {
    const request = readShellRequest(body);
    expect(lineAs(request, request.user)).toBe(line);
  });
});
