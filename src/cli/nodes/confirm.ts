import { asked } from '../ask-yes.ts';
import { path } from '../client.ts';
import { Refused } from '../client-errors.ts';
import type { Invocation } from '../invocation.ts';
import { foldNames } from './fold.ts';

/** With more nodes than this a destructive command asks first; MUSTER_CONFIRM changes it, 0 never asks. */
const usualLimit = 8;

/**
 * Asks before much is destroyed, but only a person: standard input and output must both be a terminal, so that no script ever waits
 * for an answer. Undefined: do not do it. Otherwise the number of nodes it was agreed to for, if somebody was asked.
 */
export async function confirmed(
  { client, env, stdout, terminal }: Invocation,
  what: string,
  range: string,
  yes: boolean,
): Promise<{ readonly nodes: number | undefined } | undefined> {
  const limit = env['MUSTER_CONFIRM'] === undefined ? usualLimit : Number(env['MUSTER_CONFIRM']);
  if (yes || !(limit > 0) || !terminal.stdin || !terminal.stdout) return { nodes: undefined };
  const names = await namesIn(client, range);
  if (names.length <= limit) return { nodes: undefined };
  await stdout.flush();
  return (await asked(`${what} ${names.length} nodes (${foldNames(names)})?`)) ? { nodes: names.length } : undefined;
}

/** The names in a range, none if it is empty. */
export async function namesIn(client: Invocation['client'], range: string): Promise<string[]> {
  try {
    return Object.keys((await client.get(path('nodes', range, 'attrs', 'groups'))) as object);
  } catch (error) {
    if (error instanceof Refused && error.isEmpty) return [];
    throw error;
  }
}
