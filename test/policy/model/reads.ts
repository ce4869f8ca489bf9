import type { Reply } from '../../harness/client.ts';
import { askedBy, type Request, type Wrong } from './request.ts';
import { type Asked, mayAnythingOn, mayAtAll, mayOn, type Policy } from './rules.ts';
import { membersOf, nodesIn } from './state.ts';
import {
  ambiguousName,
  canary,
  clusterObjects,
  groupNames,
  hypervisors,
  isWord,
  type Letter,
  machinesOf,
  marksOf,
  nodeNames,
  stranger,
} from './world.ts';

/** All that the caller has written down, which may be repeated to them. */
const ownWords = ({ path, body, query }: Request): string[] =>
  `${decodeURIComponent(path)} ${JSON.stringify(body ?? '')} ${JSON.stringify(query)}`
    .split(/[\s",;{}[\]()=~/!|]+/)
    .filter((word) => word.length > 3);

/** Names and values of nodes that the account may not read, what is the whole cluster's, and secrets of anybody. */
export function readOutside(policy: Policy, letter: Letter, request: Request, reply: Reply): Wrong[] {
  const headers = Object.entries(reply.headers).map(([name, value]) => `${name}: ${String(value)}`);
  const whole = [reply.text, ...headers].join('\n');
  const text = ownWords(request).reduce((rest, word) => rest.replaceAll(word, ' '), whole);
  return [
    ...(/s3[ab]-/.test(whole) ? ['a secret is in the reply'] : []),
    ...nodesOutside(policy, letter, request, reply, text),
    ...objectsOutside(policy, letter, request, text),
  ];
}

/** Who may list a node may read of it; events are told by the right to hear them alone. */
function readerOf(policy: Policy, request: Request, areEvents: boolean): (node: string) => boolean {
  const listing: Asked = { command: 'lsdef', line: '-t node' };
  const asked = [...askedBy(request), ...(areEvents ? [] : [listing])];
  // What a run of one's own shows was told when it ran.
  if (request.path.startsWith('/runs/')) return (node) => mayAnythingOn(policy, node);
  return (node) => asked.some((each) => mayOn(policy, each, node));
}

function nodesOutside(policy: Policy, letter: Letter, request: Request, { status }: Reply, text: string): Wrong[] {
  const wrong: Wrong[] = [];
  const areEvents = request.row.reply === 'events' && status === 200;
  const mayRead = readerOf(policy, request, areEvents);
  const limits = policy.limit ? [policy.limit] : [];
  const ruleText = [...policy.rules, ...limits].map(({ range }) => JSON.stringify(range ?? '')).join(' ');
  // Nobody is a node that was removed or has another name now; what is told of it is told of the past.
  const isRemoved = (node: string): boolean => !nodesIn(policy.world).includes(node);
  for (const node of nodeNames) {
    if (mayRead(node) || (areEvents && isRemoved(node))) continue;
    const marks = marksOf(letter, node).filter((mark) => text.includes(mark));
    if (marks.length > 0) wrong.push(`what ${node} has is in the reply: ${marks.join(', ')}`);
    // Whoever may read where a machine is reads the name of its hypervisor.
    const isNamed = hypervisors.includes(node) && machinesOf(node).some(mayRead);
    const isTold = request.mentions.includes(node) || ruleText.includes(node) || node === ambiguousName || isNamed;
    if (!isTold && isWord(text, node)) wrong.push(`the name of ${node} is in the reply`);
  }
  for (const group of groupNames) {
    if (!text.includes(canary(letter, group, ''))) continue;
    const readable = membersOf(policy.world, group).some(mayRead) || mayRead(group);
    if (!readable) wrong.push(`what group ${group} has is in the reply`);
  }
  return wrong;
}

/** Rules for some nodes say nothing about what belongs to none. */
function objectsOutside(policy: Policy, letter: Letter, request: Request, text: string): Wrong[] {
  const asked = askedBy(request);
  if (asked.some((each) => mayAtAll(policy, each))) return [];
  return [
    ...clusterObjects.flatMap((name) =>
      text.includes(canary(letter, name, '')) ? `what ${name} has is in the reply` : [],
    ),
    ...(isWord(text, stranger) ? ['a machine that is no node is in the reply'] : []),
  ];
}

/** Runs of others, and of another account that had the name. */
export function runsOutside({ path }: Request, { status, text }: Reply, foreign: readonly string[]): Wrong[] {
  if (!path.startsWith('/runs')) return [];
  if (/RUN|GHOST/.test(path)) return status < 400 ? ["somebody else's run is shown or cancelled"] : [];
  return foreign.flatMap((id) => (text.includes(id) ? `the run ${id} of somebody else is listed` : []));
}
