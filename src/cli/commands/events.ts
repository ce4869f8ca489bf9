import { setTimeout as sleep } from 'node:timers/promises';
import { musterCommand, oneOf } from '../command.ts';
import { Garbled, NotReached } from '../errors.ts';
import { foldNames } from '../nodes/results.ts';
import { valued } from '../options.ts';
import { oneLine } from '../output.ts';
import { lineBatches, longestLine } from '../replies.ts';
import { localTime } from '../times.ts';

/** A block of server-sent events. */
export interface ServerEvent {
  readonly id: string | undefined;
  readonly event: string;
  /** Empty in blocks that only move the id on. */
  readonly data: string;
}

export async function* serverEvents(body: AsyncIterable<Buffer>): AsyncGenerator<ServerEvent> {
  let [id, event, data]: [string | undefined, string, string[]] = [undefined, '', []];
  let size = 0;
  for await (const lines of lineBatches(body)) {
    for (const line of lines) {
      if (line === '') {
        if (id !== undefined || data.length > 0) yield { id, event, data: data.join('\n') };
        [id, event, data] = [undefined, '', []];
        size = 0;
        continue;
      }
      size += line.length + 1;
      if (size > longestLine) throw new Garbled('The server sends an event without an end; is it muster?');
      const colon = line.indexOf(':');
      const value = line.slice(colon + 1).replace(/^ /, '');
      const field = colon < 0 ? line : line.slice(0, colon);
      if (field === 'id') id = value;
      else if (field === 'event') event = value;
      else if (field === 'data') data.push(value);
    }
  }
}

interface Event {
  readonly kind: string;
  readonly time?: string;
  readonly nodes?: readonly string[] | number;
  readonly [member: string]: unknown;
}

const [firstWait, longestWait] = [500, 15_000];

export const events = musterCommand({
  usage: `Usage: muster events [NODERANGE] [--kinds KINDS] [--after ID] [--seconds N] [--format ndjson]

Shows events as they happen, until Ctrl-C. If the connection breaks, it reconnects and shows what it missed.`,
  options: {
    kinds: valued('KINDS', 'only these, separated by commas: change, status, power, boot, run, notice, hardware'),
    after: valued('ID', 'begin with what came after this event; with --format ndjson each line has its id'),
    seconds: valued('N', 'end after N seconds'),
  },
  operands: [0, 1, 'Name one noderange; separate nodes by commas.'],
  common: ['format'],
  async run(invocation, options) {
    const { client, stdout, stderr, signal } = invocation;
    const [noderange] = options.operands;
    const format = oneOf('--format', options.common.format, ['ndjson'] as const);
    const [kinds, seconds] = [options.value('kinds'), options.value('seconds')];
    const until = seconds === undefined ? undefined : Date.now() + Number(seconds) * 1_000;
    let last = options.value('after');
    let wasThere = false;
    for (let wait = firstWait; ; wait = Math.min(longestWait, wait * 2)) {
      try {
        const left = until === undefined ? seconds : String(Math.max(0, (until - Date.now()) / 1_000));
        const body = await client.events('/events', {
          query: { noderange, kinds, seconds: left },
          ...(last === undefined ? {} : { headers: { 'Last-Event-ID': last } }),
          signal,
        });
        wasThere = true;
        for await (const { id, data } of serverEvents(body)) {
          last = id ?? last;
          wait = firstWait;
          if (data === '') continue;
          const event = JSON.parse(data) as Event;
          if (format) await stdout.line(JSON.stringify(id === undefined ? event : { id, ...event }));
          else for (const line of linesOf(event)) await stdout.line(line);
          await stdout.flush();
        }
      } catch (error) {
        if (signal.aborted) return 0;
        if (!(error instanceof NotReached) || !wasThere) throw error;
        stderr.line(`muster events: The connection to ${error.place} is gone: ${error.reason}. Trying again.`);
      }
      if (signal.aborted || (until !== undefined && Date.now() >= until)) return 0;
      await sleep(wait, undefined, { signal }).catch(() => {});
      if (signal.aborted) return 0;
    }
  },
});

interface Row {
  readonly table: string;
  readonly nodes?: readonly string[];
  readonly keys?: readonly Readonly<Record<string, string>>[];
  readonly set?: Readonly<Record<string, string | null>>;
  readonly new?: boolean;
  readonly removed?: boolean;
}

function linesOf(event: Event): string[] {
  const { kind, time = '', nodes, ...others } = event;
  const head = `${localTime(time)}  ${kind}`;
  if (kind === 'change') {
    const { user, command: by, revision, rows = [] } = others as { rows?: readonly Row[]; [member: string]: unknown };
    return rows.map((row) => `${head} ${String(revision)} by ${String(user)} (${String(by)}): ${rowText(row)}`);
  }
  if (kind === 'ready') return [];
  const about = Array.isArray(nodes)
    ? `${foldNames(nodes as string[])}: `
    : nodes === undefined
      ? ''
      : `${String(nodes)} nodes, `;
  const said = Object.entries(others)
    .filter(([name]) => name !== 'id')
    .map(([name, value]) => `${name}=${oneLine(typeof value === 'string' ? value : JSON.stringify(value))}`);
  return [`${head}  ${about}${said.join(' ')}`];
}

function rowText({ table, nodes, keys, set, new: made, removed }: Row): string {
  const names = nodes
    ? foldNames(nodes)
    : (keys ?? []).map((key) => Object.values(key).map(oneLine).join(',')).join('; ');
  const values = Object.entries(set ?? {}).map(([name, value]) =>
    value === null ? `${name} cleared` : `${name}=${oneLine(value)}`,
  );
  return [table, names, ...(made ? ['(new)'] : removed ? ['(removed)'] : []), ...values].join(' ');
}
