import type { Requirement, UpdateOperation } from '../../protocols/dns/update.ts';
import type { DnsRecord } from './ledger.ts';

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
