import type { AnyPerNode } from '../commands/per-node.ts';
import { workerFinder } from '../nodes/index.ts';
import type { Division } from './division.ts';
import type { DispatchServices, Request } from './request.ts';
import type { Workplace } from './work.ts';

/** How the work of a command is divided between workers and this server; undefined: all of it is done here. */
export function divisionOf(
  { workers, store, remote }: DispatchServices,
  { user, args, command }: Request,
  { name, onWorkers }: Pick<AnyPerNode<never>, 'name' | 'onWorkers'>,
  workplace: Workplace,
  here: Division['here'],
): Division | undefined {
  if (!workers || workers.isEmpty || !onWorkers || command.kind !== 'per-node') return undefined;
  const { outlivesClient, isNotedFirst } = command as AnyPerNode;
  return {
    command: name,
    user,
    onWorkers,
    changes: isNotedFirst === true || outlivesClient?.(args) === true,
    workplace,
    ssh: onWorkers.needsSsh ? remote.forWorkers : undefined,
    log: workers.log,
    timeout: workers.jobTimeout,
    workerFor: workerFinder(workers, store.current),
    here,
  };
}
