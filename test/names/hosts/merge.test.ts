import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import { parseIp } from '../../../src/core/ip.ts';
import type { HostEntry } from '../../../src/objects/host-names.ts';
import { parseHosts } from '../../../src/names/hosts/hosts-file.ts';
import { formatLine, isOwnLine } from '../../../src/names/hosts/own-lines.ts';
import { mergeHosts, removeHosts } from '../../../src/names/hosts/merge.ts';
import type { ManagementNode } from '../../../src/objects/networks.ts';

const entry = (address: string, short: string, ...others: string[]): HostEntry => ({
  node: short.split('-')[0]!,
  ip: parseIp(address)!,
  short,
  long: `${short}.c.com`,
  others,
  attribute: 'hosts.ip',
});

const format = { order: 'short', longOthers: false } as const;
const own: ManagementNode = {
  hasAddress: (ip) => ip.value === parseIp('10.0.0.100')!.value,
  hasName: (name) => ['localhost', 'mn'].includes(name),
  isMeantBy: (text) => text === 'mn',
};
const merge = (text: string, ...entries: HostEntry[]) => mergeHosts(parseHosts(text), entries, own, format);

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
    [
      'does not touch localhost',
      '10.0.0.1 n1 localhost\n',
      [entry('10.0.0.7', 'n1')],
      '10.0.0.1 n1 localhost\n10.0.0.7 n1 n1.c.com \n',
    ],
  ])('%s', (_name, before, entries, after) => expect(merge(before, ...entries).text).toBe(after));

  it.each([
    ['with a message, its line is not there', '127.0.1.1 mn\n', 1],
    ['silently, a line says it already', '10.0.0.100 other mn\n', 0],
  ])('of the management node itself is left out %s', (_name, text, warnings) =>
    expect(merge(text, entry('10.0.0.100', 'mn'))).toEqual({
      text,
      warnings: Array(warnings).fill(
        "Ignoring 10.0.0.100 mn: node 'mn' is the management node, whose lines stay as they are.",
      ),
    }),
  );

  it('of a further interface of the management node is written', () =>
    expect(merge('', { ...entry('10.0.0.9', 'mn-bmc'), node: 'mn' }).text).toBe('10.0.0.9 mn-bmc mn-bmc.c.com \n'));

  it.each([
    ['its address by definition', '', entry('10.0.0.100', 'n1'), '10.0.0.100 is an address of this management node;'],
    ['its address by a line', '10.0.0.1 mn\n', n1, '10.0.0.1 is an address of this management node by a line'],
    ['its name', '', entry('10.0.0.9', 'mn'), '10.0.0.9 is no address of this management node, whose name'],
  ])('of another node that has the management node’s own is refused: %s', (_name, text, given, sentence) =>
    expect(() => merge(text, given)).toThrow(`Node ${given.node}, hosts.ip: ${sentence}`),
  );

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
  ])('takes %s', (_name, before, after) => expect(removeHosts(parseHosts(before), named, own)).toBe(after));
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
  /** A file that is refused stays. */
  const mergedText = (text: string): string => {
    try {
      return merge(text, ...entries).text;
    } catch (error) {
      expect(error).toBeInstanceOf(Fault);
      return text;
    }
  };

  it('lines that are not of the entries come through as they are', () => {
    fc.assert(
      fc.property(file, (text) => {
        const foreign = parseHosts(text).filter(
          ({ ip, names }) => !ip || names.length === 0 || isOwnLine(own, { ip, names }),
        );
        const after = parseHosts(mergedText(text)).map((line) => line.text.trimEnd());
        for (const line of foreign) expect(after).toContain(line.text.trimEnd());
      }),
    );
  });

  it('merging again changes nothing, and removing takes all of it out', () => {
    fc.assert(
      fc.property(file, (text) => {
        const once = mergedText(text);
        expect(mergedText(once)).toBe(once);
        const named = entries.map(({ short, ip }) => ({ name: short, ip }));
        const removed = parseHosts(removeHosts(parseHosts(once), named, own));
        expect(removed.some((line) => !isOwnLine(own, line) && /^n[12](\.|$)/.test(line.names[0] ?? ''))).toBe(false);
      }),
    );
  });
});
