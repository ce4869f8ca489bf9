import { Type } from 'typebox';
import { asTheyCome } from '../core/as-they-come.ts';
import { Fault } from '../core/errors.ts';
import { nodeFailure, type NodeResult } from '../core/results.ts';
import { noteRotation, type RotationJob } from '../drivers/index.ts';
import { effectiveReader } from '../objects/effective.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { nodeChange } from './node-change.ts';
import { deviceAddress } from './per-node.ts';

const args = Type.Object({
  ...nodeArguments,
  length: Type.Optional(Type.Integer({ minimum: 12, maximum: 64, description: 'characters of the new passwords' })),
});

/** BMCs that get a new password at a time. */
const width = 64;

interface Held {
  readonly jobs: readonly RotationJob[];
  readonly failed: readonly NodeResult[];
}

/**
 * New random passwords for the accounts by which muster reaches BMCs. That a rotation begins is a change set of its own, so that whoever
 * may not change what muster trusts is refused before anything is sent; what follows is done on so many BMCs at a time.
 */
export const bmcrotate = nodeChange({
  name: 'bmcrotate',
  args,
  uses: ['rotation'],
  line: ({ length }) => (length === undefined ? [] : [`length=${length}`]),
  select: selectNodes,
  // Table bmcrotation is trusted, and the right to the command alone is no right to it.
  decides: [],
  async prepare(snapshot, _args, { rotation, selection, caller }, isDryRun): Promise<Held> {
    const { jobs, failed } = await rotation.jobs(snapshot, selection.nodes ?? []);
    const busy = isDryRun ? rotation.claims.underWay(jobs) : await rotation.claims.claim(jobs, caller.user);
    const refused = jobs.filter(({ key }) => busy.has(key)).flatMap(({ nodes }) => nodes);
    return {
      jobs: jobs.filter(({ key }) => !busy.has(key)),
      failed: [
        ...[...failed].map(([node, fault]) => nodeFailure(node, fault)),
        ...refused.map((node) => nodeFailure(node, underWay)),
      ],
    };
  },
  async release({ jobs }, { rotation }) {
    rotation.claims.release(jobs);
  },
  *plan(draft, _args, _scope, { jobs, failed }) {
    const since = new Date().toISOString();
    const reader = effectiveReader(draft.base);
    const results = [...failed];
    for (const { nodes, target } of jobs) {
      yield;
      for (const node of nodes) {
        // It may have been removed meanwhile.
        if (!reader.nodeRow(node)) continue;
        noteRotation(draft, node, target.account ?? '', since);
        results.push({ node, value: { account: target.account ?? '' } });
      }
    }
    return results;
  },
  async *after(planned, { length }, { rotation, run, cancelled, caller: { user, client } }, { jobs }) {
    yield planned.filter((result) => 'error' in result);
    const origin = { user, client, command: 'bmcrotate', run };
    const rotated = asTheyCome(jobs, width, async (job, begun): Promise<readonly NodeResult[]> => {
      try {
        const by = { command: 'bmcrotate', user, signal: cancelled, begun };
        const password = await rotation.rotate(job, length, by, origin);
        return job.nodes.map((node) => ({ node, value: { password } }));
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        return job.nodes.map((node) => nodeFailure(node, error));
      } finally {
        rotation.claims.release([job]);
      }
    });
    for await (const results of rotated) yield results.flat();
  },
  sentTo: ({ jobs }, node) => deviceAddress(jobs.find(({ nodes }) => nodes.includes(node))!.target),
});

const underWay = new Fault(
  'conflict',
  'another request gives its BMC a new password at the moment. Send the request again when that has ended.',
);
