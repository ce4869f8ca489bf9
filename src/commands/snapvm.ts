import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { NodeValue } from '../core/results.ts';
import type { Snapshots } from '../drivers/index.ts';
import { onHardware, perNode } from './per-node.ts';

const args = {
  action: Type.Enum(['list', 'show', 'create', 'revert', 'delete', 'clear']),
  name: Type.Optional(Type.String({ description: 'of the snapshot; list and clear are about all' })),
  description: Type.Optional(Type.String()),
};

interface Wanted {
  readonly action: 'list' | 'show' | 'create' | 'revert' | 'delete' | 'clear';
  readonly name?: string | undefined;
  readonly description?: string | undefined;
}

const readings: readonly string[] = ['list', 'show'];

/** Snapshots of virtual machines. */
export const snapvm = perNode({
  ...onHardware('snapvm', 'snapshots', args, (snapshots, wanted, { signal }) => carryOut(snapshots, wanted, signal)),
  line: ({ action, name }) => (name === undefined ? [action] : [action, name]),
  outlivesClient: ({ action }) => !readings.includes(action),
});

async function carryOut(
  snapshots: Snapshots,
  { action, name = '', description }: Wanted,
  signal: AbortSignal,
): Promise<NodeValue> {
  switch (action) {
    case 'list':
      return { snapshots: await snapshots.list(signal) };
    case 'show':
      return Object.fromEntries(
        Object.entries(await snapshots.show(name, signal)).filter((entry): entry is [string, string] =>
          Boolean(entry[1]),
        ),
      );
    case 'create':
      await snapshots.create(name, description, signal);
      return {};
    case 'revert':
      await snapshots.revert(name, signal);
      return {};
    case 'delete':
      await snapshots.remove(name, signal);
      return {};
    case 'clear':
      await clear(snapshots, signal);
      return {};
  }
}

/** One that cannot be deleted does not keep the others. */
async function clear(snapshots: Snapshots, signal: AbortSignal): Promise<void> {
  const kept: string[] = [];
  for (const each of (await snapshots.list(signal)).toReversed()) {
    try {
      await snapshots.remove(each, signal);
    } catch (error) {
      if (!(error instanceof Fault) || error.kind !== 'invalid') throw error;
      kept.push(`its snapshot ${each} could not be deleted: ${error.message}`);
    }
  }
  if (kept.length > 0) throw new Fault('invalid', kept);
}
