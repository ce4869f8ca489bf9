import type { Invocation } from '../invocation.ts';
import { agreed } from '../ask-yes.ts';
import type { Plan } from './definition-files.ts';
import { type RowChange, writeRows } from './row-diff.ts';

export interface Writing {
  /** The revision that the plan was made on. */
  readonly since: number;
  readonly question: string;
  readonly dryRun: boolean;
  readonly yes: boolean;
}

/** Shows what a plan changes, asks a person, and writes it in one change, unless somebody else has changed one of the objects since. */
export async function writePlan(
  invocation: Invocation,
  { set, remove }: Plan,
  { since, question, dryRun, yes }: Writing,
): Promise<'same' | 'shown' | 'refused' | 'written'> {
  const { client, stdout } = invocation;
  const body = { definitions: set, since, ...(remove.length > 0 ? { remove } : {}) };
  const isEmpty = set.length + remove.length === 0;
  const tried = isEmpty ? undefined : await client.call('PUT', '/definitions', { body, query: { dryRun: '1' } });
  const rows = (tried?.body as { changes: readonly RowChange[] } | undefined)?.changes ?? [];
  if (rows.length === 0) {
    stdout.line('Nothing differs.');
    return 'same';
  }
  if (dryRun || (invocation.terminal.stdout && !yes)) await writeRows(invocation, rows);
  if (dryRun) return 'shown';
  if (!(await agreed(invocation, `${question} (${rows.length} rows)`, yes))) {
    stdout.line('Nothing was changed.');
    return 'refused';
  }
  const { headers } = await client.call('PUT', '/definitions', { body });
  stdout.line(`Written by change ${headers['x-muster-revision']}.`);
  return 'written';
}
