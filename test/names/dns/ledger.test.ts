import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RefusedNodes } from '../../../src/objects/select.ts';
import { type DnsRecord, keyed, Ledger } from '../../../src/names/ledger.ts';
import { type Change, checkTogether, countTogether, planUpdate } from '../../../src/names/dns/update-plan.ts';

let directory: string;
let file: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-ledger-'));
  file = join(directory, 'sub/records.jsonl');
});
afterEach(() => rmSync(directory, { recursive: true }));

const a = (name: string, data: string): DnsRecord => ({ name: `${name}.t`, type: 'A', data });
const cname = (name: string, to: string): DnsRecord => ({ name: `${name}.t`, type: 'CNAME', data: `${to}.t` });
const owned = (owners: Record<string, DnsRecord[]>) =>
  new Map(Object.entries(owners).map(([owner, records]) => [owner, keyed(records)]));
const change = (owners: Record<string, DnsRecord[]>): Change => ({ owners: owned(owners), zoneOf: () => 't' });
const shown = (ledger: Ledger, wanted: Change): string[] =>
  planUpdate(ledger, wanted)
    .operations.map(({ remove, name, type, data }) => `${remove ? '-' : '+'}${name} ${type} ${data}`)
    .sort();
const guards = (ledger: Ledger, wanted: Change) => {
  const { first, operations } = planUpdate(ledger, wanted);
  const added = operations.filter(({ remove }) => !remove);
  return [first.length, ...added.map(({ requires, otherwise }) => [requires, ...otherwise])];
};

describe('the ledger', () => {
  it('is the same after a restart', async () => {
    const ledger = new Ledger(file);
    await ledger.set(owned({ n1: [a('n1', '10.0.0.1'), cname('x', 'n1')], n2: [a('n2', '10.0.0.2')] }));
    await ledger.set(owned({ n2: [], n1: [a('n1', '10.0.0.9')] }));
    const again = new Ledger(file);
    expect([...again.owners()]).toEqual(['n1']);
    expect([...again.of('n1').keys()]).toEqual(['n1.t A 10.0.0.9']);
    expect([again.named('x.t'), again.named('n2.t')]).toEqual([[], []]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('survives a line that was cut off, and what follows it', async () => {
    await new Ledger(file).set(owned({ n1: [a('n1', '10.0.0.1')] }));
    appendFileSync(file, '["n2",["n2.t","A","10.');
    await new Ledger(file).set(owned({ n3: [a('n3', '10.0.0.3')] }));
    expect([...new Ledger(file).owners()]).toEqual(['n1', 'n3']);
  });

  it('does not grow for ever', async () => {
    const ledger = new Ledger(file);
    for (let i = 0; i < 1_500; i++) await ledger.set(owned({ n1: [a('n1', `10.0.${i >> 8}.${i & 255}`)] }));
    expect(readFileSync(file, 'utf8').split('\n').length).toBeLessThan(1_100);
    expect([...new Ledger(file).of('n1').keys()]).toEqual(['n1.t A 10.0.5.219']);
  });

  it('writes nothing when nothing changes', async () => {
    const ledger = new Ledger(file);
    await ledger.set(owned({ n1: [a('n1', '10.0.0.1')] }));
    const before = statSync(file).size;
    await ledger.set(owned({ n1: [a('n1', '10.0.0.1')], n2: [] }));
    expect(statSync(file).size).toBe(before);
  });
});

describe('changes', () => {
  it.each<[string, Record<string, DnsRecord[]>, Record<string, DnsRecord[]>[], number]>([
    ['one', {}, [{ n1: [] }], 1],
    ['different nodes and names', {}, [{ n1: [a('n1', '1.1.1.1')] }, { n2: [a('n2', '2.2.2.2')] }], 2],
    ['one node', {}, [{ n1: [a('n1', '1.1.1.1')] }, { n2: [] }, { n1: [] }], 2],
    ['one name', {}, [{ n1: [cname('x', 'n1')] }, { n2: [cname('x', 'n2')] }], 1],
    ['a name that both had', { n1: [a('s', '1.1.1.1')], n2: [a('s', '1.1.1.1')] }, [{ n1: [] }, { n2: [] }], 1],
    ['a name that another gives up', { n1: [cname('x', 'n1')] }, [{ n1: [] }, { n2: [cname('x', 'n2')] }], 1],
    [
      'names of one third node',
      { n3: [cname('x', 'n3'), cname('y', 'n3')] },
      [{ n1: [cname('x', 'n1')] }, { n2: [cname('y', 'n2')] }],
      1,
    ],
  ])('of %s: how many go together', async (_what, before, wanted, count) => {
    const ledger = new Ledger(file);
    await ledger.set(owned(before));
    expect(countTogether(wanted.map(change), ledger)).toBe(count);
  });
});

describe('a plan', () => {
  const ledgerOf = async (owners: Record<string, DnsRecord[]>): Promise<Ledger> => {
    const ledger = new Ledger(file);
    await ledger.set(owned(owners));
    return ledger;
  };

  it.each<[string, Record<string, DnsRecord[]>, Record<string, DnsRecord[]>, string[]]>([
    ['adds what is new', {}, { n1: [a('n1', '1.1.1.1')] }, ['+n1.t A 1.1.1.1']],
    [
      'adds again what should be there',
      { n1: [a('n1', '1.1.1.1')] },
      { n1: [a('n1', '1.1.1.1')] },
      ['+n1.t A 1.1.1.1'],
    ],
    ['replaces', { n1: [a('n1', '1.1.1.1')] }, { n1: [a('n1', '2.2.2.2')] }, ['+n1.t A 2.2.2.2', '-n1.t A 1.1.1.1']],
    ['removes', { n1: [a('n1', '1.1.1.1')] }, { n1: [] }, ['-n1.t A 1.1.1.1']],
    ['keeps what another has', { n1: [a('s', '1.1.1.1')], n2: [a('s', '1.1.1.1')] }, { n1: [] }, []],
    [
      'removes what both give up, once',
      { n1: [a('s', '1.1.1.1')], n2: [a('s', '1.1.1.1')] },
      { n1: [], n2: [] },
      ['-s.t A 1.1.1.1'],
    ],
    [
      'keeps what passes to another',
      { n1: [a('s', '1.1.1.1')] },
      { n1: [], n2: [a('s', '1.1.1.1')] },
      ['+s.t A 1.1.1.1'],
    ],
    [
      'takes an alias over',
      { n1: [cname('x', 'n1')] },
      { n2: [cname('x', 'n2')] },
      ['+x.t CNAME n2.t', '-x.t CNAME n1.t'],
    ],
    [
      'turns an alias into a host of the same change',
      { n1: [cname('n2', 'n1')] },
      { n1: [], n2: [a('n2', '1.1.1.2')] },
      ['+n2.t A 1.1.1.2', '-n2.t CNAME n1.t'],
    ],
  ])('%s', async (_what, before, wanted, operations) => {
    expect(shown(await ledgerOf(before), change(wanted))).toEqual(operations);
  });

  it.each<[string, Record<string, DnsRecord[]>, Record<string, DnsRecord[]>, unknown[]]>([
    ['a host', {}, { n1: [a('n1', '1.1.1.1')] }, [0, ['no-alias']]],
    ['a new alias', {}, { n1: [cname('x', 'n1')] }, [0, ['unused', { alias: 'n1.t' }]]],
    ['an alias of two', {}, { n1: [cname('x', 'm')], n2: [cname('x', 'm')] }, [0, ['unused', { alias: 'm.t' }]]],
    ['an alias again', { n1: [cname('x', 'n1')] }, { n1: [cname('x', 'n1')] }, [0, [{ alias: 'n1.t' }, 'unused']]],
    [
      'an alias that moves',
      { n1: [cname('x', 'n1')] },
      { n2: [cname('x', 'n2')] },
      [0, [{ alias: 'n1.t' }, 'unused', { alias: 'n2.t' }]],
    ],
    [
      'a host that was an alias',
      { n1: [cname('x', 'n1')] },
      { n1: [a('x', '1.1.1.1')] },
      [0, [{ alias: 'n1.t' }, 'no-alias']],
    ],
    [
      'a host of whose former states a crash has left the notes',
      { n1: [cname('x', 'n1'), cname('x', 'n2'), a('x', '1.1.1.1')] },
      { n1: [a('x', '2.2.2.2')] },
      [0, [{ alias: 'n1.t' }, { alias: 'n2.t' }, 'no-alias']],
    ],
    [
      'an alias that was a host, which is removed before',
      { n2: [a('x', '1.1.1.1')] },
      { n1: [cname('x', 'n1')], n2: [] },
      [1, ['unused', { alias: 'n1.t' }]],
    ],
  ])('requires that nobody else’s records are in the way of %s', async (_what, before, wanted, expected) => {
    expect(guards(await ledgerOf(before), change(wanted))).toEqual(expected);
  });

  it('notes more before than after', async () => {
    const plan = planUpdate(await ledgerOf({ n1: [a('n1', '1.1.1.1')] }), change({ n1: [a('n1', '2.2.2.2')] }));
    expect([...plan.before.get('n1')!.keys()]).toEqual(['n1.t A 1.1.1.1', 'n1.t A 2.2.2.2']);
    expect([...plan.after.get('n1')!.keys()]).toEqual(['n1.t A 2.2.2.2']);
  });

  it('removes doubtful records, unless others have them', async () => {
    const ledger = await ledgerOf({ n2: [a('s', '1.1.1.1')] });
    const doubtful = owned({ n1: [a('n1', '1.1.1.9'), a('s', '1.1.1.1')] });
    expect(shown(ledger, { ...change({ n1: [] }), doubtful })).toEqual(['-n1.t A 1.1.1.9']);
  });

  it.each<[string, Record<string, DnsRecord[]>, RegExp]>([
    ['an alias of two', { n1: [cname('x', 'n1')], n2: [cname('x', 'n2')] }, /Node n2, hosts\.hostnames: x\.t would be/],
    ['an alias that is a host', { n1: [cname('n2', 'n1')], n2: [a('n2', '1.1.1.1')] }, /Node n1, .* n2\.t is the name/],
  ])('is refused: %s', (_what, owners, message) => {
    const refused = new RefusedNodes();
    checkTogether(owned(owners), refused);
    expect(() => refused.tell()).toThrow(message);
  });
});
