import { Fault } from '../../core/errors.ts';
import { attemptFor, type RefusedNodes } from '../../objects/select.ts';
import type { UpdateOperation } from '../../protocols/dns/update.ts';
import { guard, type Guarded } from './obstacles.ts';
import { type DnsRecord, type Holding, type Ledger, recordKey, type Records } from '../ledger.ts';

/** What DNS shall show of some nodes from now on. */
export interface Change {
  /** All records of each; none to remove it. */
  readonly owners: ReadonlyMap<string, Records>;
  /** Records of theirs that may be there though nobody has noted them. */
  readonly doubtful?: ReadonlyMap<string, Records>;
  /** Whether another node is still defined to have a name as its alias, so that nobody else can take it. */
  readonly isClaimed?: (owner: string, name: string) => boolean;
  /** Where nodes are noted that would take a name from another; they stay as they were. Undefined: all is refused. */
  readonly refused?: RefusedNodes;
  /** The name server's own name: its addresses are never removed. */
  readonly server?: string;
  /** The zone a name is in; undefined if it is in none, and so cannot be in DNS. */
  readonly zoneOf: (name: string) => string | undefined;
}

export interface Plan extends Guarded {
  /** What to note before sending, and what after. */
  readonly before: ReadonlyMap<string, Records>;
  readonly after: ReadonlyMap<string, Records>;
  readonly warnings: readonly string[];
}

/** What has to be sent for a change. A record that two nodes have stays until the second gives it up. */
export function planUpdate(ledger: Ledger, wanted: Change): Plan {
  const change = wanted.refused ? { ...wanted, owners: possible(ledger, wanted, wanted.refused) } : wanted;
  const operations: UpdateOperation[] = [];
  const before = new Map<string, Records>();
  const after = new Map<string, Records>();
  const warnings: string[] = [];
  const stays = stayingRecords(ledger, change);
  const removed = new Set<string>();
  const remove = (key: string, record: DnsRecord): void => {
    if (!removed.has(key)) operations.push({ remove: true, ...record });
    removed.add(key);
  };
  for (const [owner, records] of change.owners) {
    const old = ledger.of(owner);
    for (const [key, record] of old) if (!records.has(key) && !stays(key, record)) remove(key, record);
    for (const [key, record] of change.doubtful?.get(owner) ?? []) if (!stays(key, record)) remove(key, record);
    for (const record of records.values()) {
      for (const other of takeOver(ledger, change, owner, record)) {
        remove(recordKey(other.record), other.record);
        after.set(other.owner, without(after.get(other.owner) ?? ledger.of(other.owner), other.record));
        warnings.push(`${record.name} was another name of ${other.record.data}; now it is one of ${record.data}.`);
      }
      operations.push({ remove: false, name: record.name, type: record.type, data: record.data });
    }
    before.set(owner, old.size === 0 || old === records ? records : new Map([...old, ...records]));
    after.set(owner, records);
  }
  const isNoted = (alias: DnsRecord): boolean =>
    ledger.named(alias.name).some(({ record }) => sameRecord(record, alias));
  return { ...guard(operations, isNoted), before, after, warnings };
}

/** The owners without those that are refused. One that stays as it was keeps names that others may have counted on. */
function possible(ledger: Ledger, change: Change, refused: RefusedNodes): Change['owners'] {
  for (let owners = change.owners; ; ) {
    const left = [...owners].filter(([owner, records]) =>
      attemptFor(refused, owner, () => {
        for (const record of records.values()) takeOver(ledger, { ...change, owners }, owner, record);
      }),
    );
    if (left.length === owners.size) return owners;
    owners = new Map(left);
  }
}

/** Returns which records remain: those that the change itself has, and those that others have. */
function stayingRecords(ledger: Ledger, change: Change): (key: string, record: DnsRecord) => boolean {
  let added: Set<string> | undefined;
  const fromChange = (): Set<string> => {
    const keys = new Set<string>();
    for (const records of change.owners.values()) for (const key of records.keys()) keys.add(key);
    return keys;
  };
  return (key, wanted) => {
    added ??= fromChange();
    if (added.has(key) || (wanted.name === change.server && wanted.type !== 'CNAME')) return true;
    return ledger
      .named(wanted.name)
      .some(({ owner, record }) => sameRecord(record, wanted) && !change.owners.has(owner));
  };
}

/** Other nodes' aliases of the same name, which end; a name that cannot be both alias and host is refused, as DNS would do silently. */
function takeOver(ledger: Ledger, change: Change, owner: string, record: DnsRecord): readonly Holding[] {
  const held = ledger.named(record.name);
  if (held.length === 0 || record.type === 'PTR') return noHoldings;
  return held.filter((holding) => {
    const other = holding.record;
    if (change.owners.has(holding.owner) || sameRecord(other, record)) return false;
    if ((other.type === 'CNAME') !== (record.type === 'CNAME'))
      throw bothAliasAndHost(owner, record, holding.owner, other);
    if (record.type === 'CNAME' && change.isClaimed?.(holding.owner, record.name))
      throw new Fault(
        'invalid',
        `Node ${owner}, hosts.hostnames: ${record.name} is another name of node ${holding.owner}; remove it there first.`,
      );
    return record.type === 'CNAME';
  });
}

/** For records of one name. */
const sameRecord = (a: DnsRecord, b: DnsRecord): boolean => a.type === b.type && a.data === b.data;

const noHoldings: readonly Holding[] = [];

const ownerText = (owner: string): string => (owner === '' ? 'a line of the hosts file' : `node ${owner}`);

function bothAliasAndHost(owner: string, record: DnsRecord, holder: string, other: DnsRecord): Fault {
  const [of, is] = record.type === 'CNAME' ? ['an alias', 'the name of a host'] : ['the name', 'an alias'];
  const remedy =
    holder === ''
      ? 'Correct the hosts file, then do POST /services/dns.'
      : `Change one of them, and do POST /nodes/${holder}/dns before this one.`;
  return new Fault('invalid', [
    `${owner === '' ? 'The hosts file' : `Node ${owner}, hosts.hostnames or name`}: ${record.name} would be ${of}, but in DNS it is ${is} of ${ownerText(holder)} (${other.type} ${other.data}).`,
    remedy,
  ]);
}

function without(records: Records, record: DnsRecord): Records {
  const left = new Map(records);
  left.delete(recordKey(record));
  return left;
}

/** Refuses nodes whose records cannot be in DNS together, or not beside the name server's own name. */
export function checkTogether(owners: ReadonlyMap<string, Records>, refused: RefusedNodes, server?: string): void {
  const aliases = new Map<string, { owner: string; data: string }>();
  const hosts = new Map<string, string>();
  for (const [owner, records] of owners) {
    const refuse = (what: string, ...others: string[]): void => {
      for (const node of [owner, ...others]) refused.refuse(node, [`Node ${owner}, hosts.hostnames: ${what}.`]);
    };
    for (const { name, type, data } of records.values()) {
      if (type === 'A' || type === 'AAAA') hosts.set(name, owner);
      if (type !== 'CNAME') continue;
      const known = aliases.get(name);
      if (known && known.data !== data)
        refuse(`${name} would be another name of both ${known.data} (node ${known.owner}) and ${data}`, known.owner);
      else if (name === server) refuse(`${name} is the name of the management node`);
      else aliases.set(name, { owner, data });
    }
  }
  for (const [name, { owner }] of aliases) {
    const host = hosts.get(name);
    if (host !== undefined)
      refused.refuse(owner, [`Node ${owner}, hosts.hostnames: ${name} is the name of a host of node ${host}.`]);
  }
}

/** How many changes, from the first on, can go out together: those of one node, or of one name, must follow each other. */
export function countTogether(changes: readonly Change[], ledger: Ledger): number {
  if (changes.length < 2) return changes.length;
  const taken = new Set<string>();
  for (const [i, change] of changes.entries()) {
    const marks = marksOf(change, ledger);
    if (marks.values().some((mark) => taken.has(mark))) return i;
    for (const mark of marks) taken.add(mark);
  }
  return changes.length;
}

/** The nodes and names that a change concerns: also what its nodes have had so far, and the nodes it may take a name from. */
function marksOf({ owners, doubtful }: Change, ledger: Ledger): Set<string> {
  const marks = new Set<string>();
  const mark = (records: Records): void => {
    for (const { name } of records.values()) {
      marks.add(name);
      for (const { owner } of ledger.named(name)) marks.add(`node ${owner}`);
    }
  };
  for (const [owner, records] of owners) {
    marks.add(`node ${owner}`);
    for (const each of [records, ledger.of(owner), doubtful?.get(owner)]) if (each) mark(each);
  }
  return marks;
}
