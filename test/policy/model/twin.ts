import type { Reply } from '../../harness/client.ts';
import type { Cluster } from './cluster.ts';
import { canBeRenamed, renamed } from './ranges.ts';
import type { Request } from './request.ts';
import { mayAnythingOn, permits, type Policy, type Rule } from './rules.ts';
import { membersOf, type World } from './state.ts';
import { addressOf, ambiguousName, bmcOf, canary, groupNames, hypervisors, macOf, nodeNames, uuidOf } from './world.ts';

/**
 * What an account may not know must make no difference to it. So the twin differs in that, and in nothing else that the account could
 * see: nodes on which it may do nothing have other values, and other names where no rule permits anything on all nodes.
 */
export interface Twin {
  readonly unknown: readonly string[];
  /** Those that have another name. */
  readonly renamed: readonly string[];
  readonly rules: readonly Rule[];
  readonly limit: Rule | undefined;
}

const newName = (node: string): string => `z${node.slice(1)}`;

export function twinOf(policy: Policy): Twin {
  const { rules, limit } = policy;
  const unknown = nodeNames.filter((node) => !mayAnythingOn(policy, node));
  // A rule that refuses is told to whoever meets it, so that it must mean the same names.
  const confined = [...rules, ...(limit?.range ? [limit] : [])].every(({ range, ...rule }) =>
    permits({ range, ...rule }) ? range && canBeRenamed(range) : !range,
  );
  // Hypervisors are named by their machines. A new name takes a request, so that every other node has to do.
  const kept = [ambiguousName, ...hypervisors];
  const away = confined ? unknown.filter((node, i) => !kept.includes(node) && i % 2 === 0) : [];
  const rename = (name: string): string => (away.includes(name) ? newName(name) : name);
  const renamedIn = (rule: Rule): Rule => (rule.range ? { ...rule, range: renamed(rule.range, rename) } : rule);
  return {
    unknown,
    renamed: away,
    rules: rules.map(renamedIn),
    limit: limit && renamedIn(limit),
  };
}

/** Makes the difference, from how the twin began. */
export async function differ(cluster: Cluster, { unknown, renamed: away }: Twin): Promise<void> {
  const others = unknown.map((node) => [node, { rack: 'r9', arch: 'ppc64le' }]);
  if (others.length > 0) await cluster.ok('PUT', '/nodes', Object.fromEntries(others));
  for (const node of away) await cluster.ok('PUT', `/nodes/${node}/rename`, { newNode: newName(node) });
}

/** Takes the names back; what else is different is little. */
export async function undiffer(cluster: Cluster, { renamed: away }: Twin): Promise<void> {
  for (const node of away) await cluster.ok('PUT', `/nodes/${newName(node)}/rename`, { newNode: node });
}

/** The same request to the twin: values that the account may know of are there with the other letter. */
export function forTwin(request: Request, { unknown }: Twin, world: World): Request {
  const known = nodeNames.filter((node) => !unknown.includes(node));
  const knownGroups = groupNames.filter((group) => membersOf(world, group).some((node) => known.includes(node)));
  const pairs = [
    ...[...known, ...knownGroups].map((owner) => [canary('a', owner, ''), canary('b', owner, '')] as const),
    ...known.flatMap((node) => [
      [bmcOf('a', node), bmcOf('b', node)] as const,
      [addressOf('a', node), addressOf('b', node)] as const,
      [macOf('a', node), macOf('b', node)] as const,
      [macOf('a', node).replaceAll(':', ''), macOf('b', node).replaceAll(':', '')] as const,
      [`alias-a-${node}`, `alias-b-${node}`] as const,
      [uuidOf('a', node), uuidOf('b', node)] as const,
      [uuidOf('a', node).toUpperCase(), uuidOf('b', node).toUpperCase()] as const,
    ]),
    ['10.78.255.254', '10.88.255.254'] as const,
    ['127.177.9.9', '127.187.9.9'] as const,
    ['10.78.9.9', '10.88.9.9'] as const,
  ];
  const translated = (text: string): string => pairs.reduce((sum, [from, to]) => sum.replaceAll(from, to), text);
  return {
    ...request,
    path: request.path
      .split('/')
      .map((segment) => encodeURIComponent(translated(decodeURIComponent(segment))))
      .join('/'),
    ...(request.body !== undefined && { body: JSON.parse(translated(JSON.stringify(request.body))) as unknown }),
  };
}

/** Runs, and what becomes of them, come in the order and number that chance has it. */
export const isComparable = ({ row: { path }, query }: Request): boolean =>
  path !== '/runs' && (path !== '/events' || query['kinds'] === 'change');

/** As the account sees it, without what differs by chance or by the letter. */
export function seenOf({ status, text, headers }: Reply): string {
  const plain = (
    inOrder(text) ??
    text
      .split('\n')
      .map((line) => inOrder(line) ?? line)
      .join('\n')
  )
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replaceAll(/(the token |"id":")[0-9a-f]{16}\b/g, '$1ID')
    .replaceAll(/c[ab]-/g, 'c-')
    .replaceAll(/alias-[ab]-/g, 'alias-')
    .replaceAll('127.187.', '127.177.')
    .replaceAll('127.188.', '127.178.')
    .replaceAll('10.88.', '10.78.')
    .replaceAll('52:54:00:0b', '52:54:00:0a')
    .replaceAll('5254000b', '5254000a')
    .replaceAll(/muster-test-\w+/g, 'DIRECTORY')
    .replaceAll(/; that was \d+ s ago, and it is not retried before [\d:]+ UTC/g, '')
    .replaceAll(/ssh-ed25519 \S+/g, 'KEY')
    .replaceAll(/request [\w-]+/g, 'request ID')
    .replaceAll(/(revision|change|newest is|revert on) \d+/gi, '$1 N')
    // As ?debug=1 repeats it: changes have other numbers there.
    .replaceAll(/"(?:lschanges|revert) [^"]*"/g, (line) => line.replaceAll(/ \d+(?=[ "])/g, ' N'))
    .replaceAll(/"(id|next|reverts|from|to|revision)":\d+/g, '"$1":0')
    .replaceAll(/^id: \S+/gm, 'id: N')
    .replaceAll(/\d{4}-\d\d?-\d\d?[T ][\d:.]+Z?/g, 'TIME');
  const names = Object.keys(headers).filter((name) => name !== 'content-length' && name !== 'transfer-encoding');
  return [status, headers['content-type'], names.sort().join(), plain].join('\n');
}

/** In which order columns were written once does not matter. Undefined if it is no JSON. */
function inOrder(text: string): string | undefined {
  const sorted = (_key: string, value: unknown): unknown =>
    isObject(value)
      ? Object.fromEntries(
          Object.keys(value)
            .sort()
            .map((key) => [key, value[key]]),
        )
      : value;
  try {
    return JSON.stringify(JSON.parse(text, sorted));
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
