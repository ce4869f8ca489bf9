import { statSync } from 'node:fs';
import { isNearlyFull } from '../../core/disk-full.ts';
import { path } from '../client.ts';
import type { Invocation } from '../command.ts';
import { NotReached, Refused } from '../errors.ts';
import { foldNames } from '../nodes/results.ts';
import { contextsFile, type Place } from '../places.ts';
import { inCommands } from '../remedies.ts';
import { certificateOf } from './certificates.ts';
import { amount, disksIn, readMetrics } from './metrics.ts';

/** What a check has found. */
export interface Finding {
  readonly well: boolean;
  readonly what: string;
  readonly text: string;
  /** The exit status that it leads to if it is not well: 1, or 3 if the server cannot be used at all. */
  readonly code?: number;
}

export type Findings = AsyncGenerator<Finding>;

const ok = (what: string, text: string): Finding => ({ well: true, what, text });
const wrong = (what: string, text: string, code = 1): Finding => ({ well: false, what, text, code });
const either = (well: boolean, what: string, text: string): Finding => (well ? ok(what, text) : wrong(what, text));

/** Whether this client can work. Ends early if the server cannot be used. */
export async function* checkClient(invocation: Invocation): Findings {
  const { client } = invocation;
  try {
    for (const [i, place] of client.places.entries()) {
      yield ok('server', place.protocol === 'unix:' ? `the socket ${place.shown}` : place.shown);
      if (i === 0) yield* checkLogins(invocation);
      if (place.protocol === 'https:') yield await certificateFinding(place, client.places.length > 1);
    }
    yield* checkServer(invocation);
  } catch (error) {
    if (!(error instanceof NotReached)) throw error;
    yield notReached(error, 3);
    return;
  }
  yield* checkRights(invocation);
  yield* checkRoom(invocation);
  yield* checkServerItself(invocation);
}

const notReached = ({ reason, advice }: NotReached, code: number): Finding =>
  wrong('reached', [`no: ${reason}`, advice].filter(Boolean).join('. '), code);

function* checkLogins({ env }: Invocation): Generator<Finding> {
  const file = contextsFile(env);
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return;
  const isOwn = (stat.mode & 0o077) === 0;
  yield either(
    isOwn,
    'logins',
    isOwn ? `${file} is readable to you alone` : `others can read ${file}: chmod 600 ${file}`,
  );
}

const day = 86_400_000;
const warnDays = 30;

/** One of several servers that is away is wrong, and the others are looked at all the same. */
async function certificateFinding(place: Place, hasOthers: boolean): Promise<Finding> {
  const shown = await certificateOf(place).catch((error: unknown) => {
    if (error instanceof NotReached && hasOthers) return error;
    throw error;
  });
  if (shown instanceof NotReached) return notReached(shown, 1);
  const { own, trusted, reason } = shown;
  const days = Math.floor((own.validToDate.getTime() - Date.now()) / day);
  if (!trusted) return wrong('certificate', `not trusted (${reason ?? 'unknown'}); muster login shows it and asks`, 3);
  return either(
    days >= warnDays,
    'certificate',
    days < warnDays ? `ends in ${days} days` : `trusted, for ${days} days more`,
  );
}

const mostClock = 60_000;

async function* checkServer({ client }: Invocation): Findings {
  let headers;
  try {
    ({ headers } = await client.call('GET', '/health'));
    yield ok('reached', 'yes, and it is well');
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    yield wrong('reached', `yes, but it is not well: ${error.sentences.join(' ')}`);
    return;
  }
  const there = Date.parse(headers['date'] ?? '');
  if (Number.isNaN(there)) return;
  const apart = Math.abs(Date.now() - there);
  const seconds = Math.round(apart / 1_000);
  yield either(
    apart < mostClock,
    'clock',
    apart < mostClock ? 'both agree' : `the server's is ${seconds} seconds away from this one`,
  );
}

/** A few things that most people do; what is refused is shown, not counted as wrong. */
const tries: readonly (readonly [what: string, at: string, query?: Record<string, string>])[] = [
  ['see nodes', '/definitions/node'],
  ['see changes', '/changes', { limit: '1' }],
  ['see tables', '/tables'],
];

async function* checkRights({ client }: Invocation): Findings {
  const may: string[] = [];
  const mayNot: string[] = [];
  for (const [what, at, query = {}] of tries) {
    try {
      await client.get(at, { query });
      may.push(`may ${what}`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.status === 401) {
        yield wrong('login', error.sentences.join(' '), 3);
        return;
      }
      mayNot.push(`may not ${what}`);
    }
  }
  yield ok('login', 'valid');
  yield either(may.length > 0, 'rights', [...may, ...mayNot].join(', '));
}

/** Sources of accounts, and disks. Whoever may not read the metrics sees nothing of them. */
async function* checkRoom({ client }: Invocation): Findings {
  const metrics = await readMetrics(client);
  if (!metrics) return;
  for (const { labels, value } of metrics.get('muster_account_source_up') ?? []) {
    const part = `${labels['source']}: ${labels['part']}`;
    const text = value === 1 ? `${part} answers` : `${part} cannot be asked; the log of the server says why`;
    yield either(value === 1, 'accounts', text);
  }
  for (const { place, free, size } of disksIn(metrics)) {
    const shown = `${place} has ${amount(free)} of ${amount(size)} left`;
    const full = free === 0 ? `${place} is full` : `${shown} and is nearly full`;
    yield either(!isNearlyFull(free, size), 'disk', isNearlyFull(free, size) ? `${full}; make room there` : shown);
  }
}

/** What only the server can see. It is looked at by those who may ask for it. */
async function* checkServerItself({ client }: Invocation): Findings {
  try {
    const { findings } = (await client.get('/doctor')) as { findings: readonly Finding[] };
    for (const { well, what, text } of findings) yield either(well, what, text);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    // A server of the version before does not look at itself.
    if (error.status === 404) return;
    yield error.status === 403
      ? ok(
          'inside',
          'the server shows what it finds about itself to accounts with full rights, or a policy rule for doctor',
        )
      : wrong('inside', `the server cannot look at itself: ${error.sentences.join(' ')}`);
  }
}

const neededSite = ['master', 'domain', 'nameservers'];

/** What the management node needs so that nodes can be booted: the client, the site, networks and services. */
export async function* checkManagementNode(invocation: Invocation): Findings {
  for await (const finding of checkClient(invocation)) {
    yield finding;
    if (finding.code === 3) return;
  }
  const { client } = invocation;
  const { clustersite = {} } = (await client.get('/globalconf')) as { clustersite?: Record<string, string> };
  const unset = neededSite.filter((name) => !clustersite[name]);
  yield either(
    unset.length === 0,
    'site',
    unset.length === 0
      ? neededSite.map((name) => `${name}=${clustersite[name]}`).join(', ')
      : `${unset.join(', ')} not set: chdef -t site ${unset[0]}=VALUE`,
  );
  const networks = (await client.get('/definitions/network')) as string[];
  yield either(
    networks.length > 0,
    'networks',
    networks.length > 0 ? `${networks.length} defined` : 'none is defined: makenetworks defines those of this machine',
  );
  for (const { labels, value } of (await readMetrics(client))?.get('muster_service_up') ?? [])
    yield either(value === 1, 'service', `${labels['service']} ${value === 1 ? 'answers' : 'does not answer'}`);
}

/** A node with such a status would have fetched something. */
const onTheWay = ['powering-on', 'netbooting', 'installing', 'booting'];

/** Where the boot of each node is, and why one does not continue. */
export async function* checkBoots({ client }: Invocation, range: string): Findings {
  type Boot = { readonly status: string; readonly steps: readonly string[]; readonly why: string };
  const found = (await client.get(path('nodes', range, 'boot'))) as Readonly<Record<string, Boot>>;
  for (const [node, { status, steps, why }] of Object.entries(found)) {
    const isUnseen = steps.length === 0 && (status === '' || onTheWay.includes(status));
    const shown = status || (steps.length === 0 ? 'it has fetched nothing' : 'no status');
    yield either(status !== 'failed' && !isUnseen, node, `${shown}: ${why}`);
  }
}

interface Discovery {
  readonly ranges: readonly { readonly noderange: string; readonly free: number }[];
  readonly unmatched: readonly Readonly<Record<string, string | undefined>>[];
}

/** Ranges that are open, and machines that are no node yet, with the reason. */
export async function* checkDiscovery({ client }: Invocation): Findings {
  const { ranges, unmatched } = (await client.get('/discovery')) as Discovery;
  if (ranges.length === 0) yield ok('ranges', 'none is open: machines become the nodes that are defined like them');
  for (const { noderange, free } of ranges)
    yield either(free > 0, 'ranges', `${noderange} is open, with ${free} nodes that have no machine yet`);
  if (unmatched.length === 0) yield ok('machines', 'all that have booted are nodes');
  for (const { mac, reason } of unmatched) yield wrong('machines', `${mac ?? 'unknown'}: ${reason ?? 'no reason'}`);
}

type Attributes = Readonly<Record<string, Readonly<Record<string, string | undefined>>>>;

/** Attributes of which no two nodes may have the same value. */
const unique: readonly (readonly [what: string, ...names: string[]])[] = [
  ['MAC address', 'mac'],
  ['BMC', 'bmc'],
  ['model and serial number', 'mtm', 'serial'],
  ['address', 'ip'],
];

/** Nodes that have the same of what only one can have. */
export async function* checkNodes({ client }: Invocation, range: string): Findings {
  const wanted = unique.flatMap(([, ...names]) => names).join(',');
  const nodes = Object.entries((await client.get(path('nodes', range, 'attrs', wanted))) as Attributes);
  for (const [what, ...names] of unique) {
    const users = new Map<string, string[]>();
    for (const [node, attributes] of nodes) {
      const value = names.map((name) => attributes[name] ?? '').join(' ');
      if (names.some((name) => !attributes[name])) continue;
      const known = users.get(value.toLowerCase());
      if (known) known.push(node);
      else users.set(value.toLowerCase(), [node]);
    }
    const doubles = [...users].filter(([, same]) => same.length > 1);
    if (doubles.length === 0) yield ok(what, 'no two nodes have the same');
    for (const [value, same] of doubles) yield wrong(what, `${foldNames(same)} all have ${value}`);
  }
}

/** Nodes by their status; those that failed are named. */
export async function* checkStatus({ client }: Invocation, range: string): Findings {
  const nodes = Object.entries((await client.get(path('nodes', range, 'attrs', 'status'))) as Attributes);
  const byStatus = Map.groupBy(nodes, ([, { status }]) => status || 'not reported');
  for (const [status, found] of [...byStatus].toSorted(([, a], [, b]) => b.length - a.length)) {
    const names = foldNames(found.map(([node]) => node));
    yield either(!/fail|noping|error/i.test(status), status, `${found.length}: ${names}`);
  }
}

/** What nodes would miss of each image. */
export async function* checkImages({ client }: Invocation): Findings {
  for (const image of (await client.get('/osimages')) as string[]) {
    const { problems } = (await client.get(path('osimages', image, 'check'))) as { problems: readonly string[] };
    if (problems.length === 0) yield ok(image, 'nodes can boot it');
    for (const problem of problems) yield wrong(image, inCommands(problem));
  }
}
