import { Type } from 'typebox';
import { asTheyCome } from '../core/as-they-come.ts';
import { Fault } from '../core/errors.ts';
import { nodeFailure, type NodeResult } from '../core/results.ts';
import { type CertificateJob, type CertificateOutcome, endOf, noteCertificate } from '../drivers/index.ts';
import { effectiveReader } from '../objects/effective.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { everyNode, noArguments, nodeArguments, noLine, query, selectNodes } from './command.ts';
import { nodeChange } from './node-change.ts';
import { deviceAddress } from './per-node.ts';

const args = Type.Object({
  ...nodeArguments,
  within: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 3_650, description: 'only those that end within so many days' }),
  ),
  certificates: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description: 'by node, as PEM: these, and not ones that muster signs',
    }),
  ),
});

/** BMCs that get a certificate at a time. */
const width = 64;

interface Held {
  readonly wanted: ReadonlySet<string>;
  readonly jobs: readonly CertificateJob[];
  readonly failed: readonly NodeResult[];
}

/**
 * New certificates for BMCs. That one begins is a change set of its own, so that whoever may not change what muster trusts is refused before
 * anything is sent, also where a BMC serves other nodes too.
 */
export const bmccertify = nodeChange({
  name: 'bmccertify',
  args,
  uses: ['renewal'],
  line: ({ within, certificates }) => [
    certificates === undefined ? 'sign' : 'install',
    ...(within === undefined ? [] : [`within=${within}`]),
  ],
  select: selectNodes,
  // Table bmccertificate is trusted, and the right to the command alone is no right to it.
  decides: [],
  async prepare(snapshot, { certificates }, { renewal, selection, caller }, isDryRun): Promise<Held> {
    const nodes = selection.nodes ?? [];
    const stray = Object.keys(certificates ?? {}).find((node) => !nodes.includes(node));
    if (stray !== undefined)
      throw new Fault(
        'invalid',
        `There is a certificate for "${withoutSecrets(stray)}", which is none of these nodes.`,
      );
    const given = nodes.filter((node) => certificates === undefined || Object.hasOwn(certificates, node));
    const { jobs, failed } = await renewal.jobs(snapshot, given);
    const busy = isDryRun ? renewal.claims.underWay(jobs) : await renewal.claims.claim(jobs, caller.user);
    const refused = jobs.filter(({ key }) => busy.has(key)).flatMap((job) => job.nodes);
    const wanted = new Set(nodes);
    return {
      wanted,
      jobs: jobs.filter(({ key }) => !busy.has(key)),
      failed: [
        ...nodes.filter((node) => !given.includes(node)).map((node) => nodeFailure(node, noneGiven)),
        ...[...failed].map(([node, fault]) => nodeFailure(node, fault)),
        ...refused.filter((node) => wanted.has(node)).map((node) => nodeFailure(node, underWay)),
      ],
    };
  },
  async release({ jobs }, { renewal }) {
    renewal.claims.release(jobs);
  },
  *plan(draft, _args, _scope, { wanted, jobs, failed }) {
    const since = new Date().toISOString();
    const reader = effectiveReader(draft.base);
    const results = [...failed];
    for (const { nodes, target } of jobs) {
      yield;
      for (const node of nodes) {
        // It may have been removed meanwhile.
        if (!reader.nodeRow(node)) continue;
        noteCertificate(draft, node, since);
        if (wanted.has(node)) results.push({ node, value: { address: target.address ?? '' } });
      }
    }
    return results;
  },
  async *after(planned, { within, certificates }, { renewal, run, cancelled, caller }, { wanted, jobs }) {
    yield planned.filter((result) => 'error' in result);
    const origin = { user: caller.user, client: caller.client, command: 'bmccertify', run };
    const done = asTheyCome(jobs, width, async (job, begun): Promise<readonly NodeResult[]> => {
      const nodes = job.nodes.filter((node) => wanted.has(node));
      const by = { command: 'bmccertify', user: caller.user, signal: cancelled, begun };
      try {
        const outcome =
          certificates === undefined
            ? await renewal.renew(job, within, by, origin)
            : await renewal.install(job, certificates[nodes[0]!]!, by, origin);
        return nodes.map((node) => ({ node, value: valueOf(outcome) }));
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        return nodes.map((node) => nodeFailure(node, error));
      } finally {
        renewal.claims.release([job]);
      }
    });
    for await (const results of done) yield results.flat();
  },
  sentTo: ({ jobs }, node) => deviceAddress(jobs.find(({ nodes }) => nodes.includes(node))!.target),
});

/** What believes in it accepts the certificates that muster has given to BMCs. */
export const lsbmcauthority = query({
  name: 'lsbmcauthority',
  args: noArguments,
  uses: ['renewal'],
  line: noLine,
  select: () => everyNode,
  run(_snapshot, _args, { renewal: { authority } }) {
    // None is made before the first certificate is.
    const value = { certificate: authority?.toString() ?? '', ends: authority ? endOf(authority) : '' };
    return { shape: 'value', value };
  },
});

const words = {
  kept: 'kept',
  replaced: 'replaced',
  waiting: 'installed; restart the BMC (rpower NODE bmcreboot), which shows the one before until then',
} as const;

const valueOf = ({ did, certificate }: CertificateOutcome) => ({ certificate: words[did], ends: endOf(certificate) });

const underWay = new Fault(
  'conflict',
  'another request replaces the certificate of its BMC at the moment. Send the request again when that has ended.',
);
const noneGiven = new Fault('missing-member', 'no certificate is given for it.');
