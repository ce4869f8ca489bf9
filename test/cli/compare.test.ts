import { describe, expect, it } from 'vitest';
import { type Case, casesOf, collections, type Effects } from './replay/cases.ts';
import { mismatch } from './replay/compare.ts';

const given = (effects: Partial<Effects>): Effects => ({ stdout: '', stderr: '', code: 0, ...effects });
const recorded = (wanted: Partial<Case>): Case => ({ id: 'x-001', note: '', argv: ['x'], ...given(wanted), ...wanted });

describe('what a command did is compared with the recording', () => {
  it.each<[string, Partial<Case>, Partial<Effects>]>([
    ['the same bytes', { stdout: 'a\n' }, { stdout: 'a\n' }],
    ['lines in another order', { stdout: 'a\nb\n', compare: 'lines' }, { stdout: 'b\na\n' }],
    ['a time', { stdout: 'at <time>.\n' }, { stdout: 'at 11-16-2026 05:00:00.\n' }],
    ['members in another order', { stdout: '  members=a,b\n', compare: 'members' }, { stdout: '  members=b,a\n' }],
    ['any help', { stdout: '<usage>\n', compare: 'usage' }, { stdout: 'Usage: x\n  -h\n' }],
    [
      'any text on the same stream',
      { stderr: '<internal error>\n', code: 1, compare: 'code' },
      { stderr: 'no\n', code: 1 },
    ],
    ['any text behind the same keys', { stdout: 'a: 1\n', compare: 'shape' }, { stdout: 'a: 2\n' }],
    [
      'rows in another order, and secrets that are hidden',
      { tables: { ipmi: { added: [{ node: 'a' }, { node: 'b', password: 'x' }] } } },
      { tables: { ipmi: { removed: [], added: [{ node: 'b', password: '********' }, { node: 'a' }] } } },
    ],
    ['a word that is dropped, and named', {}, { stderr: 'Warning: n2 is ignored: write n1,n2.\n' }],
    [
      'nodes that keep an old name',
      { stderr: 'a\n' },
      { stderr: 'a\nWarning: [mn]: n1 keeps g in groups. To change that, run chdef g -p groups=h.\n' },
    ],
    ['files that nobody has here', { files: { '/tftpboot/x': 'y' } }, {}],
    ['a file that has changed somehow', { files: { '/etc/hosts': '<changed>' } }, { files: { '/etc/hosts': 'x' } }],
    ['a note below an error', { stderr: 'a\n', code: 1 }, { stderr: 'a\nNote: No b.\n', code: 1 }],
  ])('%s: equal', (_name, wanted, found) => {
    expect(mismatch(recorded(wanted), given(found))).toBeUndefined();
  });

  it.each<[string, Partial<Case>, Partial<Effects>]>([
    ['other bytes', { stdout: 'a\n' }, { stdout: 'a' }],
    ['another status', { code: 1 }, { code: 0 }],
    ['the other stream', { stdout: 'a\n' }, { stderr: 'a\n' }],
    ['lines in another order', { stdout: 'a\nb\n' }, { stdout: 'b\na\n' }],
    ['a line less', { stdout: 'a\na\n', compare: 'lines' }, { stdout: 'a\n' }],
    ['another warning', {}, { stderr: 'Warning: [mn]: n2 is gone.\n' }],
    ['a warning on the other stream', {}, { stdout: 'Warning: n2 is ignored: write n1,n2.\n' }],
    ['no help', { stdout: '<usage>\n', compare: 'usage' }, { stderr: 'x\n' }],
    ['what stands before the help', { stdout: 'a\n<usage>\n', compare: 'usage' }, { stdout: 'Usage\n' }],
    ['no text', { stderr: '<internal error>\n', compare: 'code' }, {}],
    ['another key', { stdout: 'a: 1\n', compare: 'shape' }, { stdout: 'b: 1\n' }],
    ['a row that came', {}, { tables: { mac: { added: [{ node: 'a' }] } } }],
    ['a row that did not go', { tables: { mac: { removed: [{ node: 'a' }] } } }, {}],
    [
      'a secret that is not there',
      { tables: { ipmi: { added: [{ node: 'a', password: 'x' }] } } },
      { tables: { ipmi: { added: [{ node: 'a' }] } } },
    ],
    ['a file that is still there', { files: { '/etc/hosts': null } }, {}],
    ['a file that came', {}, { files: { '/root/x': 'y' } }],
    [
      'what is asked afterwards',
      { after: [{ argv: ['nodels'], stdout: 'a\n', stderr: '', code: 0 }] },
      { after: [{ argv: ['nodels'], stdout: 'b\n', stderr: '', code: 0 }] },
    ],
    ['a note on standard output', { stdout: 'a\n' }, { stdout: 'a\nNote: No b.\n' }],
    ['another sentence on standard error', {}, { stderr: 'Warning: No b.\n' }],
  ])('%s: not equal', (_name, wanted, found) => {
    expect(mismatch(recorded(wanted), given(found))).toBeDefined();
  });
});

it('has every recorded case once', () => {
  const ids = collections.flatMap(casesOf).map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(700);
  expect(new Set(ids).size).toBe(ids.length);
});
