import { asked } from '../ask.ts';
import type { Invocation } from '../command.ts';
import type { CommonOptions } from '../common-options.ts';
import type { RowChange } from '../muster/row-diff.ts';
import { foldNames } from './results.ts';

/** With more nodes than this a destructive command asks first; MUSTER_CONFIRM changes it, 0 never asks. */
const usualLimit = 8;

/**
 * The number of nodes or rows above which a person is asked. Undefined where none is: standard input and output must both be a terminal,
 * so that no script ever waits for an answer.
 */
export function questionLimit(
  { env, terminal }: Invocation,
  { yes, curl, dryRun }: Pick<CommonOptions, 'yes' | 'curl' | 'dryRun'>,
): number | undefined {
  const wanted = env['MUSTER_CONFIRM'] ?? '';
  const limit = /^\d+$/.test(wanted) ? Number(wanted) : usualLimit;
  return yes || curl || dryRun || limit === 0 || !terminal.stdin || !terminal.stdout ? undefined : limit;
}

/** Asks before a request removes many nodes, or the site; how many these are is what a dry run of it says. */
export async function removalConfirmed(
  invocation: Invocation,
  request: { readonly at: string; readonly body?: unknown },
  common: CommonOptions,
): Promise<boolean> {
  const limit = questionLimit(invocation, common);
  if (limit === undefined) return true;
  const { at, body } = request;
  const tried = await invocation.client.call('DELETE', at, {
    query: { dryRun: '1' },
    ...(body === undefined ? {} : { body }),
  });
  const { changes = [] } = (tried.body ?? {}) as { readonly changes?: readonly RowChange[] };
  const gone = (name: string) => changes.filter(({ table, after }) => table === name && after === null);
  const nodes = gone('nodelist').flatMap(({ key }) => key['node'] ?? []);
  if (nodes.length > limit) return agreedTo(invocation, `Remove ${nodes.length} nodes (${foldNames(nodes)})?`);
  const settings = gone('site').length;
  return settings <= limit || agreedTo(invocation, `Remove all ${settings} attributes of the site?`);
}

/** Asks before tables are replaced by files that lack many of their rows. */
export async function replacementConfirmed(
  invocation: Invocation,
  {
    at,
    body,
    query,
  }: { readonly at: string; readonly body: unknown; readonly query?: Readonly<Record<string, string>> },
  common: CommonOptions,
): Promise<boolean> {
  const limit = questionLimit(invocation, common);
  if (limit === undefined) return true;
  const tried = await invocation.client.call('PUT', at, { body, query: { ...query, dryRun: '1' } });
  const { changes = [] } = (tried.body ?? {}) as { readonly changes?: readonly RowChange[] };
  const gone = changes.filter(({ after }) => after === null);
  if (gone.length <= limit) return true;
  const counts = [...Map.groupBy(gone, ({ table }) => table)].map(([table, rows]) => `${table} ${rows.length}`);
  return agreedTo(invocation, `Remove ${gone.length} rows that the files do not have (${counts.join(', ')})?`);
}

/** Asks, and says so where the answer is no. */
export async function agreedTo({ stdout }: Invocation, question: string): Promise<boolean> {
  await stdout.flush();
  if (await asked(question)) return true;
  stdout.line('Nothing was removed.');
  return false;
}
