import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { actedOutside, hostsOutside } from './model/acts.ts';
import { Cluster } from './model/cluster.ts';
import { examples } from './model/examples.ts';
import { startHypervisor } from './model/hypervisor.ts';
import { listenForNodes, type Listeners } from './model/listeners.ts';
import { readOutside, runsOutside } from './model/reads.ts';
import { refusedOutside } from './model/refusals.ts';
import { askedBy, curlText, type Request, type Wrong } from './model/request.ts';
import { requestsOf } from './model/requests.ts';
import {
  limits,
  mayAnythingOn,
  mayAtAll,
  mayOn,
  mayRun,
  type Policy,
  rowOfRule,
  type Rule,
  ruleSet,
} from './model/rules.ts';
import { differences, effective, membersOf, type World } from './model/state.ts';
import { differ, forTwin, isComparable, seenOf, type Twin, twinOf, undiffer } from './model/twin.ts';
import { addressOf, groupNames, hypervisors, type Letter, nodeNames, silentNode, worldOf } from './model/world.ts';
import { changedOutside } from './model/writes.ts';

/** For a long look: MUSTER_POLICY_RUNS=5000 MUSTER_POLICY_SEED=1 npm test -- test/policy/random-accounts.test.ts */
const runs = Number(process.env['MUSTER_POLICY_RUNS'] ?? 15);
const seed = Number(process.env['MUSTER_POLICY_SEED'] ?? 20_261_115);
const requestsPerAccount = 16;
const isLong = process.env['MUSTER_POLICY_RUNS'] !== undefined;

let listeners: Listeners;
let hypervisor: Awaited<ReturnType<typeof startHypervisor>>;
let cluster: Cluster;
let twin: Cluster;

beforeAll(async () => {
  [listeners, hypervisor] = await Promise.all([listenForNodes(), startHypervisor()]);
  const start = (letter: Letter) => Cluster.start(letter, listeners.ports, hypervisor.socket);
  [cluster, twin] = await Promise.all([start('a'), start('b')]);
}, 600_000);
afterAll(async () => {
  await Promise.all([cluster?.stop(), twin?.stop()]);
  await Promise.all([listeners?.close(), hypervisor?.stop()]);
});

/** Commands that would wait for somebody who does not answer. */
function takesLong(request: Request, policy: Policy): boolean {
  const { row } = request;
  const asked = askedBy(request);
  if (['lsslp', 'bmcdiscover'].includes(row.command.name)) return asked.some((each) => mayAtAll(policy, each));
  const { kind, name } = row.command;
  const isHardware = name === 'rinstall' || (kind === 'per-node' && !['xdsh', 'xdcp', 'updatenode'].includes(name));
  return isHardware && asked.some((each) => mayOn(policy, each, silentNode));
}

/** Where hypervisors are or were, which muster keeps connecting to by itself. */
const followed = new Set<string>();

function noteFollowed(world: World): void {
  for (const node of hypervisors) {
    followed.add(addressOf('a', node));
    followed.add(addressOf('b', node));
    const { ip } = effective(world, 'hosts', node);
    if (ip !== undefined) followed.add(ip.replace('::ffff:', ''));
  }
}

const tally = { read: 0, changed: 0, refused: 0, compared: 0, spoken: 0, limited: 0 };

/** One request to both clusters; what was wrong with it. */
async function attempt({ rules, limit }: Account, other: Twin, request: Request): Promise<Wrong[]> {
  let sent = request;
  const before = cluster.world();
  const policy = { rules, limit, world: before };
  if (takesLong(sent, policy)) return [];
  const hostsBefore = cluster.hosts();
  noteFollowed(before);
  listeners.heard();
  const reply = await cluster.call(sent);
  const heard = listeners.heard();
  const after = cluster.world();
  // What a change that is taken back says to the policy is known from what becomes of it.
  if (sent.row.command.name === 'revert') sent = { ...sent, lines: [{ line: putBack(before, after) }] };
  const changed = differences(before, after).some(({ table }) => table !== 'token') || cluster.hosts() !== hostsBefore;
  const wrong = [
    ...readOutside(policy, 'a', sent, reply),
    ...changedOutside(policy, sent, before, after),
    ...actedOutside(policy, 'a', sent, heard, followed),
    ...hostsOutside(policy, 'a', sent, hostsBefore, cluster.hosts()),
    ...runsOutside(sent, reply, cluster.foreignRuns),
    ...refusedOutside(policy, sent, reply),
  ];
  if (reply.status >= 500 && reply.json?.errorcode === 5 && !/daemon|Kea|DHCP|name server/.test(reply.text))
    wrong.push(`a bug: ${reply.text}`);
  tally.spoken += heard.length;
  if (changed) tally.changed++;
  else if (reply.status < 300) tally.read++;
  else tally.refused++;
  // The twin hears of everything, since not all of it is taken back between accounts: DHCP stays configured.
  const twinReply = await twin.call(forTwin(sent, other, before));
  // Whether something belongs to another node is told to those who may say whom a node belongs to.
  if (other.unknown.length > 0 && isComparable(sent) && !/belongs to a node/.test(reply.text)) {
    tally.compared++;
    const [here, there] = [seenOf(reply), seenOf(twinReply)];
    if (here !== there) wrong.push(`it differs by what must not be known:\n${here}\n--\n${there}`);
  }
  return wrong;
}

const putBack = (before: World, after: World): string =>
  differences(before, after)
    .flatMap(({ table, before: was = {}, after: is = {} }) =>
      [...new Set([...Object.keys(was), ...Object.keys(is)])].flatMap((column) =>
        was[column] === is[column] ? [] : `${table}.${column}=${is[column] ?? ''}`,
      ),
    )
    .join(' ');

/** Who asks: the rules, and what the token is limited to. */
interface Account {
  readonly rules: readonly Rule[];
  readonly limit: Rule | undefined;
}

const story = ({ rules, limit }: Account, requests: readonly Request[], wrong: readonly Wrong[]): string =>
  [
    ...(limit ? [`POST /tokens ${JSON.stringify(rowOfRule(limit))}`] : []),
    ...rules.map((rule, i) => `PUT /policy/${10 + i} ${JSON.stringify(rowOfRule(rule))}`),
    ...requests.map(curlText),
    ...wrong,
  ].join('\n');

/** An account, and requests that have something to do with its rules. */
const accounts = fc.tuple(ruleSet, fc.option(limits, { nil: undefined, freq: 2 })).chain(([rules, limit]) => {
  const world = worldOf('a', { redfish: 0, ssh: 0 });
  const nodes = nodeNames.filter((node) => mayAnythingOn({ rules, limit, world }, node));
  const groups = groupNames.filter((group) => membersOf(world, group).some((node) => nodes.includes(node)));
  const known = { nodes, groups, mayRun: (command: string) => mayRun({ rules, limit }, command) };
  return fc.record({
    rules: fc.constant(rules),
    limit: fc.constant(limit),
    requests: fc.array(requestsOf(known), { minLength: 1, maxLength: requestsPerAccount, size: 'max' }),
  });
});

it('no account reads, changes, or acts on what its rules do not cover', async () => {
  await fc.assert(
    fc.asyncProperty(accounts, async ({ requests, ...account }) => {
      await Promise.all([cluster.reset(), twin.reset()]);
      const { rules } = account;
      const other = twinOf({ ...account, world: cluster.world() });
      await differ(twin, other);
      await Promise.all([cluster.setRules(rules), twin.setRules(other.rules)]);
      const made = await Promise.all([cluster.limit(account.limit), twin.limit(other.limit)]);
      expect(made[0], 'whether a token with these limits is made').toBe(made[1]);
      // Names that the account does not know limit no token.
      fc.pre(made[0]);
      if (account.limit) tally.limited++;
      await Promise.all([cluster.makeHistory('a'), twin.makeHistory('b')]);
      try {
        for (const [i, each] of requests.entries()) {
          const wrong = await attempt(account, other, each);
          if (wrong.length > 0) throw new Error(`\n${story(account, requests.slice(0, i + 1), wrong)}`);
        }
      } finally {
        await undiffer(twin, other);
      }
    }),
    { numRuns: runs, seed, endOnFailure: isLong, examples: examples.map((each) => [each]) },
  );
  if (isLong) console.log(tally);
  expect(Object.entries(tally).filter(([, count]) => count === 0)).toEqual([]);
}, 7_200_000);
