import { Fault } from '../../core/errors.ts';
import { limiter } from '../../core/limiter.ts';
import type { DnsClient } from '../../protocols/dns/client.ts';
import { DnsFault } from '../../protocols/dns/names.ts';
import type { Requirement, UpdateOperation } from '../../protocols/dns/update.ts';
import { type DnsRecord, keyed, type Records } from '../ledger.ts';

/** An addition is done only if its name is as required. `otherwise`: how the name may be as well, from the likely to the odd. */
export interface GuardedOperation extends UpdateOperation {
  readonly otherwise: readonly Requirement[];
}

export interface Guarded {
  /** To be sent before the others: with these records there, it could not be required that nobody else's are. */
  readonly first: readonly GuardedOperation[];
  readonly operations: readonly GuardedOperation[];
}

const nothing: readonly Requirement[] = [];

/** Lets additions require that nobody else's records stand in their way. `isNoted`: whether an alias is ours already. */
export function guard(operations: readonly UpdateOperation[], isNoted: (alias: DnsRecord) => boolean): Guarded {
  const formerAliases = new Map<string, Requirement[]>();
  const aliases = new Set<string>();
  for (const { remove, name, type, data } of operations) {
    if (type !== 'CNAME') continue;
    if (!remove) aliases.add(name);
    else formerAliases.set(name, [...(formerAliases.get(name) ?? []), { alias: data }]);
  }
  const added = new Set<string>();
  const first: GuardedOperation[] = [];
  const guarded: GuardedOperation[] = [];
  for (const operation of operations) {
    const { remove, name, type, data } = operation;
    const former = formerAliases.get(name);
    if (remove) (type !== 'CNAME' && aliases.has(name) ? first : guarded).push({ ...operation, otherwise: nothing });
    else if (type !== 'CNAME') guarded.push({ remove, name, type, data, ...guardOfHost(former) });
    else if (!added.has(name)) {
      // One alias that two nodes have is one record.
      added.add(name);
      guarded.push({ remove, name, type, data, ...guardOfAlias(data, former, isNoted(operation)) });
    }
  }
  return { first, operations: guarded };
}

interface Guard {
  readonly requires: Requirement;
  readonly otherwise: readonly Requirement[];
}

const noAlias: Guard = { requires: 'no-alias', otherwise: nothing };

/** Of several former aliases, of which a crash has left the notes, any may be the one that stands there. */
function guardOfHost(former: readonly Requirement[] | undefined): Guard {
  return former ? firstOf([...former, 'no-alias']) : noAlias;
}

function guardOfAlias(data: string, former: readonly Requirement[] | undefined, isNoted: boolean): Guard {
  const own = { alias: data };
  if (former) return firstOf([...former, 'unused', own]);
  return isNoted ? { requires: own, otherwise: ['unused'] } : { requires: 'unused', otherwise: [own] };
}

function firstOf([requires, ...otherwise]: readonly Requirement[]): Guard {
  return { requires: requires!, otherwise };
}

/** Operations of a message that was refused as a whole, because what one of them requires is not so. */
export interface Refusal {
  readonly zone: string;
  readonly operations: readonly GuardedOperation[];
}

interface Found {
  /** How names are that are as they may be. */
  readonly states: ReadonlyMap<string, Requirement>;
  /** What stands at names that others have taken. */
  readonly obstacles: ReadonlyMap<string, Obstacle>;
}

export interface Obstacle {
  /** The records as words; none if the server does not say. */
  readonly records: readonly string[];
  /** Nothing goes with an alias; with anything else, only an alias does not. */
  readonly isAlias: boolean;
}

const looksAtOnce = 128;
const mostSentences = 20;

/** Looks at the names of refused messages one by one. */
export async function lookAt(clients: readonly DnsClient[], refusals: readonly Refusal[]): Promise<Found> {
  const states = new Map<string, Requirement>();
  const obstacles = new Map<string, Obstacle>();
  const seen = new Set<string>();
  const inTurn = limiter(looksAtOnce);
  const look = async (zone: string, { name, requires, otherwise }: GuardedOperation): Promise<void> => {
    const client = clients[seen.size % clients.length]!;
    for (const each of [requires!, ...otherwise]) {
      if (!(await client.meets(zone, name, each))) continue;
      states.set(name, each);
      return;
    }
    const isAlias = !(await client.meets(zone, name, 'no-alias'));
    obstacles.set(name, { records: await client.records(name).catch(nothingSaid), isAlias });
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

/** That something is there is known; a server need not say what. */
function nothingSaid(error: unknown): string[] {
  if (error instanceof DnsFault && error.failure === 'garbled') return [];
  throw error;
}

interface Yielding {
  readonly owners: ReadonlyMap<string, Records>;
  /** What could not be done, as sentences; none if nothing of this is in the way. */
  readonly sentences: readonly string[];
}

/** What is wanted, without what others have taken: a node stays wholly as it was; of the hosts file only those names are left out. */
export function yieldTo(
  obstacles: ReadonlyMap<string, Obstacle>,
  wanted: ReadonlyMap<string, Records>,
  former: ReadonlyMap<string, Records>,
): Yielding {
  const owners = new Map(wanted);
  const sentences: string[] = [];
  const isStopped = ({ name, type }: DnsRecord): boolean => {
    const obstacle = obstacles.get(name);
    return obstacle !== undefined && (obstacle.isAlias || type === 'CNAME');
  };
  const stoppedOf = (records: Records): DnsRecord[] => [...records.values()].filter(isStopped);
  const taken = new Map<string, DnsRecord>();
  for (const records of wanted.values())
    if (stoppedOf(records).length === 0) for (const record of records.values()) taken.set(record.name, record);
  for (const [owner, records] of wanted) {
    const stopped = stoppedOf(records);
    if (stopped.length === 0) continue;
    for (const { name, type, data } of stopped) {
      const there = obstacles.get(name)!.records.join(', ') || 'the server does not say which';
      const whose = owner === '' ? 'The hosts file' : `Node ${owner}`;
      sentences.push(`${whose}: ${name} cannot get ${type} ${data}: somebody else's records stand there (${there}).`);
    }
    const kept = owner === '' ? records : (former.get(owner) ?? records);
    const free = [...kept.values()].filter((record) => !isStopped(record) && !clash(record, taken.get(record.name)));
    owners.set(owner, keyed(free));
  }
  return { owners, sentences };
}

/** Whether another node of the change has got the name meanwhile, and one of both makes it an alias. */
const clash = (record: DnsRecord, other: DnsRecord | undefined): boolean =>
  other !== undefined && (record.type === 'CNAME' || other.type === 'CNAME') && record.data !== other.data;

export function obstacleFault(server: string, sentences: readonly string[]): Fault {
  const shown = sentences.slice(0, mostSentences);
  if (sentences.length > shown.length) shown.push(`${sentences.length - shown.length} more are left out here.`);
  return new Fault('invalid', [
    ...shown,
    `Remove those records from the name server ${server}, or change the names or addresses, and repeat the request. All others have been served.`,
  ]);
}
