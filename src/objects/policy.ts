import { cachedBy } from '../core/cache.ts';
import { compilePolicy, type Decision, type Policy, type PolicyRequest, type PolicyRow } from '../access/policy.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { SortedMap } from '../database/sorted-map.ts';
import type { Row } from '../database/tables.ts';
import { rangeOfRule } from './cluster.ts';

const policyIn = cachedBy((rows: SortedMap<Row>) => compilePolicy(rows.values() as unknown as PolicyRow[]));

export const policyOf = (snapshot: Snapshot): Policy => policyIn(snapshot.rows('policy'));

/** What the policy is asked, now. */
export type PolicyQuestion = Omit<PolicyRequest, 'now'>;

/** What the policy of the snapshot says; ranges of rules mean its nodes. */
export const decide = (snapshot: Snapshot, question: PolicyQuestion): Decision =>
  policyOf(snapshot).decide({ ...question, now: new Date() }, (range) => rangeOfRule(snapshot, range));

export const explain = (snapshot: Snapshot, question: PolicyQuestion): ReturnType<Policy['explain']> =>
  policyOf(snapshot).explain({ ...question, now: new Date() }, (range) => rangeOfRule(snapshot, range));

/** Tells on which nodes the command may be run with this argument line, or with a longer one. */
export const allowedOn = (snapshot: Snapshot, question: Omit<PolicyQuestion, 'nodes'>): ((node: string) => boolean) =>
  policyOf(snapshot).allowedOn({ ...question, now: new Date() }, (range) => rangeOfRule(snapshot, range));
