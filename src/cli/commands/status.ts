import { isNearlyFull } from '../../core/disk-full.ts';
import { everyNode, path } from '../client.ts';
import { type Call, type Invocation, musterCommand } from '../command.ts';
import { reading } from '../common-options.ts';
import { Refused } from '../errors.ts';
import { writeData } from '../formats.ts';
import { amount, disksIn, readMetrics, type ServerMetrics } from '../muster/metrics.ts';
import { flag } from '../options.ts';
import { oneLine } from '../output.ts';

/** A line of the screen. */
interface Fact {
  readonly what: string;
  readonly text: string;
  readonly well: boolean;
}

const fact = (what: string, text: string, well = true): Fact => ({ what, text, well });

export const status = musterCommand({
  usage: `Usage: muster status [--power]

Shows the cluster on one screen: the server, nodes by their status, runs under way, what failed last, services, disks and the
certificate. It shows only what you may see. The exit status is 0 if all is well, 1 if a line needs attention; such lines begin
with an exclamation mark.`,
  options: { power: flag('ask all BMCs and hypervisors for the power state too; this can take a while') },
  common: reading,
  async run(invocation, call) {
    const facts = await gathered(invocation, call);
    const code = facts.every(({ well }) => well) ? 0 : 1;
    const { format } = call.common;
    if (format) {
      await writeData(invocation, format, facts);
      return code;
    }
    const width = Math.max(...facts.map(({ what }) => what.length));
    let before = '';
    for (const { what, text, well } of facts) {
      const title = what === before ? '' : what;
      await invocation.stdout.line(`${well ? ' ' : '!'} ${title.padEnd(width)}  ${text}`);
      before = what;
    }
    return code;
  },
});

async function gathered(invocation: Invocation, call: Call): Promise<Fact[]> {
  const { client } = invocation;
  const server = await serverFact(invocation);
  const metrics = await readMetrics(client);
  return [
    server,
    ...(await nodeFacts(invocation)),
    ...(call.flag('power') ? await powerFacts(invocation) : []),
    ...(await runFacts(invocation)),
    ...(metrics ? serverFacts(metrics) : []),
  ];
}

async function serverFact({ client }: Invocation): Promise<Fact> {
  // Of several servers the one that answers.
  const place = (): string =>
    client.place.protocol === 'unix:' ? `the socket ${client.place.shown}` : client.place.shown;
  try {
    const { version = 'of an unknown version' } = (await client.get('/health')) as { version?: string };
    return fact('server', `muster ${version} at ${place()}`);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return fact('server', `muster at ${place()} is not well: it cannot write or follow its database`, false);
  }
}

/** Numbers of things by a word, most of them first: "booted 110, powering-on 2". */
function counted(words: Iterable<string>): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts]
    .toSorted(([a, one], [b, other]) => other - one || (a < b ? -1 : 1))
    .map(([word, count]) => `${word} ${count}`)
    .join(', ');
}

/** What the caller may not see is left out; an empty range is no refusal. */
async function ifAllowed<T>(work: () => Promise<T>, none: T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return none;
  }
}

async function nodeFacts({ client }: Invocation): Promise<Fact[]> {
  const at = path('tables', 'nodelist', 'nodes', everyNode, 'status');
  type Rows = readonly { readonly status?: string }[];
  const rows = await ifAllowed(async () => ((await client.get(at)) as { nodelist?: Rows }).nodelist ?? [], []);
  const shown = counted(rows.map(({ status: each }) => each || 'not reported'));
  return [fact('nodes', rows.length === 0 ? 'none' : `${rows.length}: ${shown}`)];
}

async function powerFacts({ client, signal }: Invocation): Promise<Fact[]> {
  return ifAllowed(async () => {
    const states: string[] = [];
    const { lines } = await client.stream('GET', path('nodes', everyNode, 'power'), { signal });
    for await (const { node, value, error } of lines)
      if (node !== undefined)
        states.push(error === undefined ? ((value as { power?: string } | undefined)?.power ?? 'unknown') : 'failed');
    return states.length === 0 ? [] : [fact('power', counted(states))];
  }, []);
}

interface Run {
  readonly id: string;
  readonly command: string;
  readonly user: string;
  readonly nodes: number;
  readonly failed: number;
  readonly errorcode: number;
  readonly state: string;
  readonly started: string;
  readonly progress?: { readonly line: string };
}

const mostRunning = 10;
const mostFailed = 5;

async function runFacts({ client }: Invocation): Promise<Fact[]> {
  const list = (query: Record<string, string>) =>
    ifAllowed(async () => ((await client.get('/runs', { query })) as { runs: readonly Run[] }).runs, []);
  const running = await list({ state: 'running', limit: '1000' });
  const recent = await list({ limit: '1000' });
  const failed = recent.filter(
    ({ failed: nodes, errorcode, state }) => state !== 'running' && (nodes > 0 || errorcode !== 0),
  );
  const more = running.length - mostRunning;
  return [
    ...(running.length === 0 ? [fact('running', 'nothing')] : []),
    ...running.slice(0, mostRunning).map((run) => fact('running', `${headOf(run)}${progressOf(run)}`)),
    ...(more > 0 ? [fact('running', `and ${more} more: muster runs --state running`)] : []),
    ...failed.slice(0, mostFailed).map((run) => fact('failed', `${headOf(run)}${failureOf(run)}`)),
  ];
}

const headOf = ({ id, command, user, started }: Run): string => `${localTime(started)}  ${command} by ${user} (${id})`;
const progressOf = ({ progress, nodes }: Run): string =>
  progress?.line ? `: ${oneLine(progress.line)}` : nodes > 0 ? ` on ${nodes} nodes` : '';
const failureOf = ({ nodes, failed }: Run): string => (failed > 0 ? `: ${failed} of ${nodes} nodes failed` : '');

/** In the zone of the caller, always as wide. */
function localTime(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return text;
  const two = (number: number): string => String(number).padStart(2, '0');
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}`;
}

const day = 86_400;
const warnDays = 30;

function serverFacts(metrics: ServerMetrics): Fact[] {
  const services = (metrics.get('muster_service_up') ?? []).map(({ labels: { service = '' }, value }) =>
    value === 1
      ? fact('services', `${service} answers`)
      : fact('services', `${service} does not answer; the log of the server says why: journalctl -u muster`, false),
  );
  const disks = disksIn(metrics).map(({ place, free, size }) =>
    fact('disks', `${place} has ${amount(free)} of ${amount(size)} left`, !isNearlyFull(free, size)),
  );
  const certificates = (metrics.get('muster_certificate_end_seconds') ?? []).map(({ value }) => {
    const days = Math.floor((value - Date.now() / 1_000) / day);
    return fact('certificate', days < 0 ? 'has ended' : `ends in ${days} days`, days >= warnDays);
  });
  return [...services, ...disks, ...certificates];
}
