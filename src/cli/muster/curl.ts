import { secretWords } from '../../core/secret-words.ts';
import { NotSent, type SentRequest } from '../client.ts';
import type { Invocation } from '../command.ts';
import type { CommonOptions } from '../common-options.ts';
import { quoteWord } from '../../core/shell-words.ts';
import { hidden } from '../lines.ts';
import type { Output } from '../output.ts';
import type { Place } from '../places.ts';

const nowhere: Output = {
  write: () => undefined,
  line: () => undefined,
  draw: () => undefined,
  flush: () => Promise.resolve(),
};

/** Runs a command up to a request that would change something and whose answer it needs, and prints its requests instead of its output. */
export async function printRequests(
  invocation: Invocation,
  { dryRun, detach }: Pick<CommonOptions, 'dryRun' | 'detach'>,
  run: (silent: Invocation) => Promise<number> | number,
): Promise<number> {
  const { client, stdout } = invocation;
  client.mode = 'print';
  let code = 0;
  try {
    code = await run({ ...invocation, stdout: nowhere });
  } catch (error) {
    if (!(error instanceof NotSent)) throw error;
  }
  for (const request of client.requests) {
    const { query, isChange } = request;
    const sent = isChange && dryRun ? { ...request, query: { ...query, dryRun: '1' } } : request;
    const headers = isChange && detach ? ['Prefer: respond-async'] : [];
    stdout.line(curlLine(client.place, sent, headers));
  }
  return code;
}

/** What is printed may be kept, or shown to others. */
const bodyText = (body: unknown): string =>
  JSON.stringify(body, (name, value: unknown) =>
    typeof value === 'string' && secretWords.test(name) ? hidden : value,
  );

/** The same request for curl. The token stays in its variable, and passwords are for the reader to fill in. */
export function curlLine(
  place: Place,
  { method, at, query, body, files }: SentRequest,
  headers: readonly string[] = [],
): string {
  const search = new URLSearchParams(
    Object.entries(query ?? {}).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  const base = place.socket === undefined ? `${place.protocol}//${place.shown}` : 'http://localhost';
  const url = `${base}${place.prefix}${at}${search.size > 0 ? `?${search.toString()}` : ''}`;
  return [
    ...(files ? [...files.tarWords.map(quoteWord), '|'] : []),
    'curl',
    ...(place.socket === undefined ? [] : ['--unix-socket', quoteWord(place.socket)]),
    ...(place.ca === undefined ? [] : ['--cacert', '"$MUSTER_CA"']),
    ...(method === 'GET' ? [] : ['-X', method]),
    ...(place.token === undefined ? [] : ['-H', '"X-Auth-Token: $MUSTER_TOKEN"']),
    ...headers.flatMap((header) => ['-H', quoteWord(header)]),
    ...(body === undefined ? [] : ['-H', quoteWord('Content-Type: application/json'), '-d', quoteWord(bodyText(body))]),
    ...(files ? ['-H', quoteWord('Content-Type: application/x-tar'), '-T', '-'] : []),
    quoteWord(url),
  ].join(' ');
}
