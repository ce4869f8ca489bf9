import type { CallOptions } from './client.ts';
import { Refused } from './client-errors.ts';
import type { Invocation } from './invocation.ts';
import { warningLine } from './lines.ts';

/** Does one thing on the management node; what there is to say beside that it is done comes back. An empty range is no error. */
export async function act(
  { client }: Invocation,
  method: 'POST' | 'DELETE' | 'PUT',
  at: string,
  options: CallOptions = {},
): Promise<readonly string[]> {
  try {
    const { body } = await client.call(method, at, { ...options, query: { ...options.query, debug: '1' } });
    const said = (body as { debug?: readonly string[] } | undefined)?.debug ?? [];
    // The request, the command, the run and the revision come first.
    return said.slice(4);
  } catch (error) {
    if (error instanceof Refused && error.isEmpty) return [];
    throw error;
  }
}

export function warn({ client, stderr }: Invocation, messages: readonly string[]): void {
  for (const message of messages) stderr.line(warningLine(message.replace(/\.$/, ''), client.server));
}
