import { path } from '../client.ts';
import { UsageError } from '../errors.ts';
import { labelled, type NodeCall, nodeCommand, work } from '../nodes/node-command.ts';
import type { NodeReport, NodeRequest } from '../nodes/work.ts';
import { valued } from '../options.ts';
import { withLocalTimes } from '../times.ts';

interface Action {
  /** The snapshot that it is about: it has to be named, or cannot be. */
  readonly name: 'needed' | 'none';
  request(call: NodeCall, name: string | undefined): NodeRequest;
  readonly report?: NodeReport;
}

const snapshots = ({ range }: NodeCall, ...name: readonly string[]): string =>
  path('nodes', range, 'snapshots', ...name);
const silent: NodeReport = { lines: () => [] };

const actions: Readonly<Record<string, Action>> = {
  list: {
    name: 'none',
    request: (call) => ({ method: 'GET', at: snapshots(call) }),
    report: { lines: (value) => (value as { readonly snapshots: readonly string[] }).snapshots },
  },
  show: {
    name: 'needed',
    request: (call, name) => ({ method: 'GET', at: snapshots(call, name!) }),
    report: { lines: (value) => labelled(value).map(withLocalTimes) },
  },
  take: {
    name: 'needed',
    request(call, name) {
      const description = call.value('description');
      const body = { name: name!, ...(description === undefined ? {} : { description }) };
      return { method: 'POST', at: snapshots(call), body };
    },
  },
  revert: {
    name: 'needed',
    request: (call, name) => ({ method: 'PUT', at: snapshots(call, name!), body: { action: 'revert' } }),
    report: { ...silent, question: 'Discard what changed since the snapshot on' },
  },
  delete: {
    name: 'needed',
    request: (call, name) => ({ method: 'DELETE', at: snapshots(call, name!) }),
  },
  clear: {
    name: 'none',
    request: (call) => ({ method: 'DELETE', at: snapshots(call) }),
    report: { ...silent, question: 'Delete all snapshots of' },
  },
};

export const snapvm = nodeCommand({
  usage: `Usage: snapvm NODERANGE [list]
       snapvm NODERANGE take NAME [--description TEXT]
       snapvm NODERANGE show|revert|delete NAME
       snapvm NODERANGE clear

  list     the snapshots of virtual machines, oldest first
  show     when a snapshot was taken, and of what
  take     take a snapshot of the disks and, if the machine runs, of its memory
  revert   return to a snapshot; what has changed since is lost
  delete   delete a snapshot; the machine stays as it is
  clear    delete all snapshots`,
  options: { 'description|d': valued('TEXT', 'with take: what the snapshot is for') },
  words: 2,
  run(call) {
    const [word = 'list', name] = call.words;
    const action = Object.hasOwn(actions, word) ? actions[word]! : undefined;
    if (!action) throw new UsageError(`"${word}" is not an action; use one of ${Object.keys(actions).join(', ')}.`);
    if (action.name === 'needed' && name === undefined) throw new UsageError(`${word} needs the name of a snapshot.`);
    if (action.name === 'none' && name !== undefined) throw new UsageError(`${word} takes no name.`);
    if (word !== 'take' && call.has('description')) throw new UsageError('--description goes with take only.');
    return work(call, action.request(call, name), action.report ?? silent);
  },
});
