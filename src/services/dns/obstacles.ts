import { limiter } from '../../core/limiter.ts';
import type { DnsClient } from '../../protocols/dns/client.ts';
import { DnsFault } from '../../protocols/dns/faults.ts';
import type { Requirement } from '../../protocols/dns/update.ts';
import type { GuardedOperation } from './guards.ts';
import { keyed, type Records } from './ledger.ts';
import type { DnsRecord } from './record.ts';

/** Operations of a message that was refused as a whole, because what one of them requires is not so. */
export interface Refusal {
  readonly zone: string;
  readonly operations: readonly GuardedOperation[];
}

export interface Found {
  /** How names are that are as they may be. */
  readonly states: ReadonlyMap<string, Requirement>;
  /** What stands at names that others have taken. */
  readonly obstacles: ReadonlyMap<string, readonly string[]>;
}

const looksAtOnce = 128;

/** Looks at the names of refused messages one by one. */
export async function lookAt(clients: readonly DnsClient[], refusals: readonly Refusal[]): Promise<Found> {
  const states = new Map<string, Requirement>();
  const obstacles = new Map<string, readonly string[]>();
  const seen = new Set<string>();
  const inTurn = limiter(looksAtOnce);
  const look = async (zone: string, { name, requires, otherwise }: GuardedOperation): Promise<void> => {
    const client = clients[seen.size % clients.length]!;
    for (const each of [requires!, ...otherwise]) {
      if (!(await client.meets(zone, name, each))) continue;
      states.set(name, each);
      return;
    }
    obstacles.set(name, await client.records(name).catch(nothingTold));
  };
  const looks: Promise<void>[] = [];
  for (const { zone, operations } of refusals) {
    for (const operation of operations) {
      if (operation.requires === undefined || seen.has(operation.name)) continue;
      seen.add(operation.name);
      looks.push(inTurn(() => look(zone, operation)));
    }
  }
  await Promise.all(looks);
  return { states, obstacles };
}

/** That something is there is known; a server need not tell what. */
function nothingTold(error: unknown): string[] {
  if (error instanceof DnsFault && error.kind === 'garbled') return [];
  throw error;
}

export interface Yielding {
  readonly owners: ReadonlyMap<string, Records>;
  /** What could not be done, as sentences; none if nothing of this is in the way. */
  readonly sentences: readonly string[];
}

/**
 * The wish without what others stand in the way of: a node stays wholly as it was, so that it is never shown by halves; of lines of
 * the hosts file only the names concerned are left out.
 */
export function yieldTo(
  obstacles: ReadonlyMap<string, readonly string[]>,
  wanted: ReadonlyMap<string, Records>,
  former: ReadonlyMap<string, Records>,
): Yielding {
  const owners = new Map(wanted);
  const sentences: string[] = [];
  const stoppedOf = (records: Records): DnsRecord[] => [...records.values()].filter(({ name }) => obstacles.has(name));
  const taken = new Map<string, DnsRecord>();
  for (const records of wanted.values())
    if (stoppedOf(records).length === 0) for (const record of records.values()) taken.set(record.name, record);
  for (const [owner, records] of wanted) {
    const stopped = stoppedOf(records);
    if (stopped.length === 0) continue;
    for (const { name, type, data } of stopped) {
      const there = obstacles.get(name)!.join(', ') || 'the server does not tell which';
      const whose = owner === '' ? 'The hosts file' : `Node ${owner}`;
      sentences.push(`${whose}: ${name} cannot get ${type} ${data}: somebody else's records stand there (${there}).`);
    }
    const kept = owner === '' ? records : (former.get(owner) ?? records);
    const free = [...kept.values()].filter(
      (record) => !obstacles.has(record.name) && !clash(record, taken.get(record.name)),
    );
    owners.set(owner, keyed(free));
  }
  return { owners, sentences };
}

/** Whether another node of the change has got the name meanwhile, and one of both makes it an alias. */
const clash = (record: DnsRecord, other: DnsRecord | undefined): boolean =>
  other !== undefined && (record.type === 'CNAME' || other.type === 'CNAME') && record.data !== other.data;
