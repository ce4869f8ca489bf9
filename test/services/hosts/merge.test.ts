import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseIp } from '../../../src/core/ip.ts';
import type { HostEntry } from '../../../src/objects/host-names.ts';
import { type HostLine, parseHosts } from '../../../src/services/hosts/hosts-file.ts';
import { formatLine } from '../../../src/services/hosts/line-format.ts';
import { mergeHosts, removeHosts } from '../../../src/services/hosts/merge.ts';

const entry = (address: string, short: string, ...others: string[]): HostEntry => ({
  node: short.split('-')[0]!,
  ip: parseIp(address)!,
  short,
  long: `${short}.c.com`,
  others,
});

const format = { order: 'short', longOthers: false } as const;
const isOwn = ({ names }: HostLine): boolean => names.includes('localhost') || names.includes('mn');
const merge = (text: string, ...entries: HostEntry[]) => mergeHosts(parseHosts(text), entries, isOwn, format);

const n1 = entry('10.0.0.1', 'n1');
const n1Line = '10.0.0.1 n1 n1.c.com \n';

describe('an entry in the hosts file', () => {
  it.each<[name: string, before: string, entries: HostEntry[], after: string]>([
    ['comes last', '# c\n', [n1], `# c\n${n1Line}`],
    ['comes after a last line without its end', '10.9.0.1 x', [n1], `10.9.0.1 x\n${n1Line}`],
    ['replaces the line of its address', '10.0.0.1 x # old\n10.9.0.1 y\n', [n1], `${n1Line}10.9.0.1 y\n`],
    ['replaces the line of its name', '10.9.0.1\tn1\n#\n', [n1], `${n1Line}#\n`],
    ['replaces the line of its long name', '10.9.0.1 n1.old.org n1\n#\n', [n1], `${n1Line}#\n`],
    [
      'takes the first such line, and the others go',
      '10.9.0.1 n1\n#\n10.0.0.1 x\n10.9.0.2 n1.c.com\n',
      [n1],
      `${n1Line}#\n`,
    ],
    ['leaves lines where its name is not the first', '10.9.0.1 x n1\n', [n1], `10.9.0.1 x n1\n${n1Line}`],
    [
      'leaves names that only begin like its own',
      '10.9.0.1 n10\n10.9.0.2 n1-ib\n',
      [n1],
      `10.9.0.1 n10\n10.9.0.2 n1-ib\n${n1Line}`,
    ],
    ['leaves a comment that holds its address', '#10.0.0.1 x\n', [n1], `#10.0.0.1 x\n${n1Line}`],
    ['leaves lines that are none', 'what?\n10.0.0.01 n1\n\n \n', [n1], `what?\n10.0.0.01 n1\n\n \n${n1Line}`],
    ['finds its IPv6 address in another spelling', 'FD00:0::1 x\n', [entry('fd00::1', 'n1')], 'fd00::1 n1 n1.c.com \n'],
    ['that is there stays', n1Line, [n1], n1Line],
    [
      'of several addresses keeps its lines',
      `fd00::1 n1-x n1-x.c.com \n#\n10.0.0.9 n1-x n1-x.c.com \n`,
      [entry('10.0.0.9', 'n1-x'), entry('fd00::1', 'n1-x')],
      `fd00::1 n1-x n1-x.c.com \n#\n10.0.0.9 n1-x n1-x.c.com \n`,
    ],
    [
      'of a VLAN keeps its line',
      `10.0.0.8 n1-b0.7 n1-b0.7.c.com \n10.0.0.9 n1-b0 n1-b0.c.com \n`,
      [entry('10.0.0.9', 'n1-b0'), entry('10.0.0.8', 'n1-b0.7')],
      `10.0.0.8 n1-b0.7 n1-b0.7.c.com \n10.0.0.9 n1-b0 n1-b0.c.com \n`,
    ],
    [
      'gives way when two exchange their addresses',
      '10.0.0.1 n2\n10.0.0.2 n1\n',
      [n1, entry('10.0.0.2', 'n2')],
      `${n1Line}10.0.0.2 n2 n2.c.com \n`,
    ],
    ['does not touch lines of the management node', '10.0.0.1 mn\n', [n1], '10.0.0.1 mn\n'],
    [
      'does not touch localhost',
      '10.0.0.1 n1 localhost\n',
      [entry('10.0.0.7', 'n1')],
      '10.0.0.1 n1 localhost\n10.0.0.7 n1 n1.c.com \n',
    ],
  ])('%s', (_name, before, entries, after) => expect(merge(before, ...entries).text).toBe(after));

  it('that would be the management node’s is left out with a warning', () =>
    expect(merge('10.0.0.1 mn\n', n1, entry('10.0.0.9', 'mn'))).toEqual({
      text: '10.0.0.1 mn\n',
      warnings: [
        "Ignoring 10.0.0.1 n1 of node 'n1': the address or the name is the management node's own.",
        "Ignoring 10.0.0.9 mn of node 'mn': the address or the name is the management node's own.",
      ],
    }));

  it.each([
    ['short', false, '10.0.0.1 n1 n1.c.com a b.org\n'],
    ['long', false, '10.0.0.1 n1.c.com n1 a b.org\n'],
    ['others', false, '10.0.0.1 a b.org n1.c.com n1\n'],
    ['short', true, '10.0.0.1 n1 n1.c.com a.c.com a b.org\n'],
  ] as const)('with the order %s and long others %s', (order, longOthers, line) =>
    expect(formatLine(entry('10.0.0.1', 'n1', 'a', 'b.org'), { order, longOthers })).toBe(line),
  );
});

describe('removing', () => {
  const named = [
    { name: 'n1', ip: parseIp('10.0.0.1') },
    { name: 'n1-ib', ip: undefined },
  ];
  it.each([
    [
      'the lines of its names',
      '#\n10.0.0.1 n1\n10.9.0.1 n1.c.com\n10.9.0.2 n1-ib\n10.9.0.3 n10\n',
      '#\n10.9.0.3 n10\n',
    ],
    ['the line of its address and name', '10.0.0.1 alias n1.c.com n1\n', ''],
    ['not another line of its address', '10.0.0.1 x\n', '10.0.0.1 x\n'],
    ['not a line of the management node', '10.0.0.1 n1 mn\n', '10.0.0.1 n1 mn\n'],
  ])('takes %s', (_name, before, after) => expect(removeHosts(parseHosts(before), named, isOwn)).toBe(after));
});

describe('whatever the file holds', () => {
  const piece = fc.constantFrom(
    '10.0.0.1',
    '10.0.0.2',
    'fd00::1',
    'n1',
    'n2',
    'n1.c.com',
    ' ',
    '\t',
    '#',
    '\r',
    '\xff',
    '\0',
    'mn',
  );
  const file = fc.array(fc.oneof(piece, fc.constant('\n'))).map((pieces) => pieces.join(' '));
  const entries = [n1, entry('10.0.0.2', 'n2', 'a')];

  it('lines that are not of the entries come through as they are', () => {
    fc.assert(
      fc.property(file, (text) => {
        const foreign = parseHosts(text).filter(
          ({ ip, names }) => !ip || names.length === 0 || isOwn({ ip, names, text: '' }),
        );
        const after = parseHosts(merge(text, ...entries).text).map((line) => line.text.trimEnd());
        for (const line of foreign) expect(after).toContain(line.text.trimEnd());
      }),
    );
  });

  it('merging again changes nothing, and removing takes all of it out', () => {
    fc.assert(
      fc.property(file, (text) => {
        const once = merge(text, ...entries).text;
        expect(merge(once, ...entries).text).toBe(once);
        const named = entries.map(({ short, ip }) => ({ name: short, ip }));
        const removed = parseHosts(removeHosts(parseHosts(once), named, isOwn));
        expect(removed.some((line) => !isOwn(line) && /^n[12](\.|$)/.test(line.names[0] ?? ''))).toBe(false);
      }),
    );
  });
});
