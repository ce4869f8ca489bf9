import type { Invocation } from '../invocation.ts';
import { agreed } from '../ask-yes.ts';
import type { Plan } from './definition-files.ts';
import { type RowChange, writeRows } from './row-diff.ts';

export interface Writing {
  readonly question: string;
  readonly dryRun: boolean;
  readonly yes: boolean;
}

type Method = 'DELETE' | 'PUT';

/** Shows what a plan changes, asks a person, and writes it. What goes and what is written are a change each, both tried before. */
export async function writePlan(
  invocation: Invocation,
  { set, remove }: Plan,
  { question, dryRun, yes }: Writing,
): Promise<'same' | 'shown' | 'refused' | 'written'> {
  const { client, stdout } = invocation;
  const steps: [Method, object][] = [];
  if (remove.length > 0) steps.push(['DELETE', { definitions: remove, missing: 'skip' }]);
  if (set.length > 0) steps.push(['PUT', { definitions: set }]);
  const rows: RowChange[] = [];
  for (const [method, body] of steps) {
    const reply = await client.call(method, '/definitions', { body, query: { dryRun: '1' } });
    rows.push(...(reply.body as { changes: readonly RowChange[] }).changes);
  }
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
  const done: string[] = [];
  try {
    for (const [method, body] of steps) {
      const { headers } = await client.call(method, '/definitions', { body });
      done.push(headers['x-muster-revision'] ?? '?');
    }
  } finally {
    if (done.length > 0) stdout.line(`Written by change ${done.join(' and ')}.`);
  }
  return 'written';
}
