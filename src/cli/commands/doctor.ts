import { statSync } from 'node:fs';
import { isNearlyFull } from '../../core/disk-full.ts';
import { type Invocation, musterCommand } from '../command.ts';
import { NotReached, Refused } from '../errors.ts';
import { certificateOf } from '../muster/certificates.ts';
import { contextsFile } from '../places.ts';

const day = 86_400_000;
const warnDays = 30;
const mostClock = 60_000;

export const doctor = musterCommand({
  usage: `Usage: muster doctor

Checks whether this client can work: is the server reached and well, is its certificate good, do the clocks agree, is the login valid,
what may it do, and do the server's disks have room (for those who may read its metrics). The exit status is 0 if all is well, 1 if
something is wrong, 3 if the server is not reached or does not know you.`,
  operands: [0, 0, 'It takes no operands.'],
  async run(invocation) {
    let code = 0;
    const { client, stdout } = invocation;
    const say = (isWell: boolean, what: string, text: string, bad = 1): void => {
      if (!isWell) code = Math.max(code, bad);
      stdout.line(`${isWell ? 'ok   ' : 'WRONG'}  ${what.padEnd(11)}  ${text}`);
    };
    say(true, 'server', client.place.protocol === 'unix:' ? `the socket ${client.place.shown}` : client.place.shown);
    checkFile(invocation, say);
    try {
      if (client.place.protocol === 'https:') await checkCertificate(invocation, say);
      await checkServer(invocation, say);
    } catch (error) {
      if (!(error instanceof NotReached)) throw error;
      say(false, 'reached', `no: ${error.reason}`, 3);
      return code;
    }
    await checkRights(invocation, say);
    await checkRoom(invocation, say);
    return code;
  },
});

type Say = (isWell: boolean, what: string, text: string, bad?: number) => void;

function checkFile({ env }: Invocation, say: Say): void {
  const file = contextsFile(env);
  let mode: number;
  try {
    ({ mode } = statSync(file));
  } catch {
    return;
  }
  const isOwn = (mode & 0o077) === 0;
  say(isOwn, 'logins', isOwn ? `${file} is readable to you alone` : `others can read ${file}: chmod 600 ${file}`);
}

async function checkCertificate({ client }: Invocation, say: Say): Promise<void> {
  const { own, trusted, reason } = await certificateOf(client.place);
  const days = Math.floor((own.validToDate.getTime() - Date.now()) / day);
  if (!trusted) say(false, 'certificate', `not trusted (${reason ?? 'unknown'}); muster login shows it and asks`, 3);
  else if (days < warnDays) say(false, 'certificate', `ends in ${days} days`);
  else say(true, 'certificate', `trusted, for ${days} days more`);
}

async function checkServer({ client }: Invocation, say: Say): Promise<void> {
  let headers;
  try {
    ({ headers } = await client.call('GET', '/health'));
    say(true, 'reached', 'yes, and it is well');
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(false, 'reached', `yes, but it is not well: ${error.sentences.join(' ')}`);
    return;
  }
  const there = Date.parse(headers['date'] ?? '');
  if (Number.isNaN(there)) return;
  const apart = Math.abs(Date.now() - there);
  const seconds = Math.round(apart / 1_000);
  say(
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

async function checkRights({ client }: Invocation, say: Say): Promise<void> {
  const may: string[] = [];
  const mayNot: string[] = [];
  for (const [what, at, query = {}] of tries) {
    try {
      await client.get(at, { query });
      may.push(what);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.status === 401) {
        say(false, 'login', error.sentences.join(' '), 3);
        return;
      }
      mayNot.push(what);
    }
  }
  say(true, 'login', 'valid');
  say(
    may.length > 0,
    'rights',
    [...may.map((each) => `may ${each}`), ...mayNot.map((each) => `may not ${each}`)].join(', '),
  );
}

/** Whoever may not read the metrics sees nothing of the disks. */
async function checkRoom({ client }: Invocation, say: Say): Promise<void> {
  let text: string;
  try {
    text = await client.text('/metrics');
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return;
  }
  const free = placesIn(text, 'muster_disk_free_bytes');
  for (const [place, size] of placesIn(text, 'muster_disk_size_bytes')) {
    const left = free.get(place) ?? 0;
    const shown = `${place} has ${amount(left)} of ${amount(size)} left`;
    if (!isNearlyFull(left, size)) say(true, 'disk', shown);
    else say(false, 'disk', `${left === 0 ? `${place} is full` : `${shown} and is nearly full`}; make room there`);
  }
}

const amount = (bytes: number): string =>
  bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;

/** The numbers of a metric by what they are about: "data /var/lib/muster". */
function placesIn(text: string, metric: string): Map<string, number> {
  const places = new Map<string, number>();
  for (const line of text.split('\n')) {
    const found = /^(\w+)\{place="(\w+)",path="(.*)"\} (\d+)$/.exec(line);
    if (found?.[1] === metric) places.set(`${found[2]} (${found[3]})`, Number(found[4]));
  }
  return places;
}
