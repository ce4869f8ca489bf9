import type { Requirement, UpdateOperation } from '../../protocols/dns/update.ts';
import type { DnsRecord } from './record.ts';

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
  const given = new Map<string, UpdateOperation>();
  const aliases = new Set<string>();
  for (const operation of operations) {
    if (operation.remove) given.set(operation.name, operation);
    else if (operation.type === 'CNAME') aliases.add(operation.name);
  }
  const added = new Set<string>();
  const first: GuardedOperation[] = [];
  const guarded: GuardedOperation[] = [];
  for (const operation of operations) {
    const { remove, name, type, data } = operation;
    const former = given.get(name);
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

const guardOfHost = (former: UpdateOperation | undefined): Guard =>
  former?.type === 'CNAME' ? { requires: { alias: former.data }, otherwise: ['no-alias'] } : noAlias;

function guardOfAlias(data: string, former: UpdateOperation | undefined, isNoted: boolean): Guard {
  if (former?.type === 'CNAME') return { requires: { alias: former.data }, otherwise: ['unused', { alias: data }] };
  return isNoted
    ? { requires: { alias: data }, otherwise: ['unused'] }
    : { requires: 'unused', otherwise: [{ alias: data }] };
}
