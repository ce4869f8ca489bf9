import { X509Certificate } from 'node:crypto';
import { userInfo } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { asked, askSecret } from '../ask.ts';
import { Client } from '../client.ts';
import { type Invocation, musterCommand } from '../command.ts';
import { Garbled, NotReached, Refused, UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { quoteWord } from '../../core/shell-words.ts';
import { certificateOf, type Shown } from '../muster/certificates.ts';
import { flag, valued } from '../options.ts';
import { oneLine } from '../output.ts';
import { padded } from '../times.ts';
import { addressesIn, changeContexts, type Context, type Place, placeOf, readContexts, sameServer } from '../places.ts';

export const login = musterCommand({
  usage: `Usage: muster login URL[,URL...] [--user NAME] [--context NAME] [--fingerprint SHA256] [--password-stdin]
       muster login URL[,URL...] --oidc [--context NAME] [--fingerprint SHA256]

Logs in to a server, such as https://mn:8443, and makes it the one that other commands ask. The fingerprint of its certificate
authority is shown at the first login and kept when you agree; a server with another authority is refused from then on. Name all
servers of a cluster that has several: if one does not answer, commands ask the next.`,
  options: {
    'user|u': valued('NAME', 'the account; without it that of your own name'),
    context: valued('NAME', 'what to call this server, see muster contexts; without it its host and port'),
    fingerprint: valued(
      'SHA256',
      "the authority's fingerprint, instead of asking, as hexadecimal with or without colons",
    ),
    'password-stdin': flag('read the password from standard input'),
    oidc: flag('log in at the provider of OpenID Connect of the site, with a browser anywhere'),
  },
  notes: 'MUSTER_CA names a file with the authority to trust, instead of asking.',
  operands: [1, 1, 'Name one server, such as https://mn:8443.'],
  async run(invocation, options) {
    const { env, stdin, stdout, terminal } = invocation;
    const odd = (['user', 'password-stdin'] as const).find((name) => options.has(name));
    if (options.flag('oidc') && odd !== undefined)
      throw new UsageError(`--${odd} has no meaning with --oidc: the provider says who you are.`);
    const urls = addressesIn(options.operands[0]!);
    if (urls.length === 0) throw new UsageError('Name a server, such as https://mn:8443.');
    const bare = urls.map((url) => placeFor(url, env));
    const shown = bare.map((place) => place.shown).join(', ');
    const name = options.value('context') ?? bare[0]!.shown;
    const before = readContexts(env).contexts;
    // Whatever it is called: a server that was accepted under another name is not accepted again.
    const sameOnes = Object.keys(before).filter((each) => urls.some((url) => sameServer(before[each]!.url, url)));
    const known = sameOnes.includes(name) ? name : sameOnes[0];
    const ca = await trusted(
      invocation,
      bare,
      known === undefined ? undefined : { name: known, ca: before[known]!.ca },
      options.value('fingerprint'),
    );
    const byProvider = options.flag('oidc');
    const named = options.value('user') ?? userInfo().username;
    const password = async (): Promise<string> =>
      options.flag('password-stdin')
        ? (await stdin.text()).replace(/\r?\n$/, '')
        : askSecret(`Password of ${named} at ${shown}: `, terminal);
    const userPW = byProvider ? '' : await password();
    const places = bare.map((place): Place => ({ ...place, ...(ca === undefined ? {} : { ca }) }));
    const client = new Client(() => places);
    let token: { readonly id: string; readonly expire: string };
    let user = named;
    try {
      const body = byProvider
        ? await deviceLogin(client, invocation)
        : (await client.call('POST', '/tokens', { body: { userName: named, userPW } })).body;
      ({ token, user = named } = body as { token: typeof token; user?: string });
      if (typeof token?.id !== 'string') throw new Garbled('The server sent no token; is it muster?');
    } finally {
      client.close();
    }
    const context: Context = { url: urls.join(','), user, token: token.id, ...(ca === undefined ? {} : { ca }) };
    changeContexts(env, ({ contexts }) => ({ current: name, contexts: { ...contexts, [name]: context } }));
    stdout.line(`Logged in to ${shown} as ${user}, until ${validUntil(token.expire)}.`);
    return 0;
  },
});

interface DeviceLogin {
  readonly flow: string;
  readonly code: string;
  readonly url: string;
  readonly completeUrl?: string;
  readonly interval: number;
  readonly seconds: number;
}

/** Says where the person logs in, and waits until that is done. */
async function deviceLogin(client: Client, { stdout, signal }: Invocation): Promise<unknown> {
  const { body: begun } = await client.call('POST', '/session/oidc/device', { body: {} });
  const { flow, code, url, completeUrl, interval, seconds } = begun as DeviceLogin;
  stdout.line(`Open ${oneLine(url)} in a browser, and enter the code ${oneLine(code)}.`);
  if (completeUrl !== undefined) stdout.line(`This address has the code in it: ${oneLine(completeUrl)}`);
  stdout.line('Log in there only if you began this login yourself.');
  await stdout.flush();
  const until = Date.now() + seconds * 1_000;
  for (let wait = Math.max(1, interval); Date.now() < until; ) {
    await sleep(wait * 1_000, undefined, { signal });
    const { body } = await client.call('POST', '/session/oidc/device', { body: { flow }, signal });
    const { pending, interval: next } = body as { readonly pending?: boolean; readonly interval?: number };
    if (pending !== true) return body;
    wait = Math.max(wait, next ?? wait);
  }
  throw new UsageError('Nobody logged in at the provider in time. Begin again.');
}

/** The server says it by its own clock and zone. */
const validUntil = (expire: string): string =>
  expire === 'never' ? 'you log out' : `${padded(expire)} of the server's time`;

function placeFor(url: string, env: Invocation['env']): Place {
  let place: Place;
  try {
    const { MUSTER_TOKEN: _, ...others } = env;
    place = placeOf(url, others, undefined);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(
      code === 'ERR_INVALID_URL' ? `"${url}" is no URL; one is https://mn:8443.` : (error as Error).message,
    );
  }
  if (place.protocol !== 'https:')
    throw new UsageError(`Passwords are sent over HTTPS only, so "${url}" is no place to log in to.`);
  return place;
}

/** A context of this server; without an authority if those of this machine were enough at its login. */
interface Known {
  readonly name: string;
  readonly ca: string | undefined;
}

/** The authority to believe; undefined where those of this machine are enough. Nothing was sent to the server yet. */
async function trusted(
  { stdout, terminal }: Invocation,
  places: readonly Place[],
  known: Known | undefined,
  expected: string | undefined,
): Promise<string | undefined> {
  const pinned = places[0]!.ca ?? known?.ca;
  const { place, top, trusted: isTrusted, reason } = await firstShown(places, pinned);
  const fingerprint = top.fingerprint256;
  if (expected !== undefined && hex(expected) !== hex(fingerprint))
    throw new NotReached([place.shown], `its certificate authority has another fingerprint: ${fingerprint}`);
  if (isTrusted) return pinned ?? (expected === undefined ? undefined : top.toString());
  if (reason === 'CERT_HAS_EXPIRED') throw new NotReached([place.shown], 'its certificate has expired');
  if (reason === 'ERR_TLS_CERT_ALTNAME_INVALID')
    throw new NotReached([place.shown], 'its certificate is for another name');
  if (place.ca !== undefined)
    throw new NotReached(
      [place.shown],
      `its certificate is not from the authority in MUSTER_CA: that is ${fingerprintOf(place.ca)}, and the server shows ${fingerprint}. No password was sent`,
    );
  if (known) {
    const old = known.ca === undefined ? 'one that this machine trusts' : fingerprintOf(known.ca);
    throw new NotReached(
      [place.shown],
      `its certificate authority has changed, or another machine answers in its place: it was ${old}, and is ${fingerprint}. No password was sent. ` +
        `If it was changed on purpose, forget the old one with "muster logout --forget --context ${quoteWord(known.name)}" and log in again`,
    );
  }
  if (expected === undefined) {
    if (!terminal.stdin || !terminal.stdout)
      throw new UsageError(
        `The certificate authority of ${place.shown} is not known, and there is no terminal to ask at. Its fingerprint is ${fingerprint}; compare it, and give it with --fingerprint.`,
      );
    stdout.line(`The certificate authority of ${place.shown} is not known here. Its SHA-256 fingerprint is`);
    stdout.line(`  ${fingerprint}`);
    stdout.line('On the management node this shows it: openssl x509 -noout -fingerprint -sha256 -in var/tls/ca.pem');
    await stdout.flush();
    if (!(await asked('Is it the same?')))
      throw new NotReached([place.shown], 'its certificate authority was not agreed to');
  }
  return top.toString();
}

/** The first of them that answers, and what it shows. The others must have the same authority when they are asked. */
async function firstShown(places: readonly Place[], pinned: string | undefined): Promise<Shown & { place: Place }> {
  const failures: NotReached[] = [];
  for (const place of places) {
    try {
      return { place, ...(await certificateOf({ ...place, ...(pinned ? { ca: pinned } : {}) })) };
    } catch (error) {
      if (!(error instanceof NotReached) || places.length === 1) throw error;
      failures.push(error);
    }
  }
  const reasons = failures.map(({ message }) => message).join('; ');
  throw new NotReached(
    places.map(({ shown }) => shown),
    reasons,
    'muster doctor checks the connection.',
  );
}

const fingerprintOf = (pem: string): string => new X509Certificate(pem).fingerprint256;

const hex = (fingerprint: string): string =>
  fingerprint
    .replace(/^sha256:/i, '')
    .replaceAll(':', '')
    .toLowerCase();

export const logout = musterCommand({
  usage: `Usage: muster logout [--context NAME] [--forget]

Ends the token of the server that was logged in to last, or of the one that is named. Its address and its certificate authority
stay known.`,
  options: {
    context: valued('NAME', 'the server, see muster contexts'),
    forget: flag('forget its address and its certificate authority too'),
  },
  operands: [0, 0, 'Name the server with --context.'],
  async run({ env, stdout, stderr }, options) {
    const { current, contexts } = readContexts(env);
    const name = options.value('context') ?? env['MUSTER_CONTEXT'] ?? current;
    if (name === undefined) throw new UsageError('Nobody is logged in.');
    const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
    if (!context) throw new UsageError(`There is no context "${name}"; muster contexts lists them.`);
    let code = 0;
    if (context.token !== undefined) {
      const { MUSTER_TOKEN: _, ...others } = env;
      const client = new Client(() => addressesIn(context.url).map((url) => placeOf(url, others, context)));
      try {
        await client.call('DELETE', '/tokens');
      } catch (error) {
        if (!(error instanceof NotReached) && !(error instanceof Refused)) throw error;
        // One that has ended already needs no end.
        if (!(error instanceof Refused && error.isDenied)) {
          stderr.line(`muster logout: The token stays valid at the server until it expires: ${error.message}.`);
          code = 3;
        }
      } finally {
        client.close();
      }
    }
    const { [name]: _, ...others } = contexts;
    const { token: _token, ...kept } = context;
    changeContexts(env, (all) => ({
      ...(options.flag('forget') && all.current === name ? {} : { current: all.current ?? name }),
      contexts: options.flag('forget') ? others : { ...others, [name]: kept },
    }));
    stdout.line(options.flag('forget') ? `${name} is forgotten.` : `Logged out of ${name}.`);
    return code;
  },
});

export const contexts = musterCommand({
  usage: `Usage: muster contexts [NAME]

Lists the servers that were logged in to, with a star before the one that commands ask. With NAME commands ask that one from now on;
MUSTER_CONTEXT=NAME works for one call.`,
  operands: [0, 1, 'Name at most one context.'],
  common: ['format'],
  run(invocation, { operands: [name], common: { format } }) {
    const { env, stdout } = invocation;
    const { current, contexts: all } = readContexts(env);
    if (name !== undefined) {
      if (!Object.hasOwn(all, name)) throw new UsageError(`There is no context "${name}"; muster contexts lists them.`);
      changeContexts(env, (before) => ({ ...before, current: name }));
      return 0;
    }
    const rows = Object.entries(all).map(([each, { url, user, token }]) => ({
      name: each,
      url,
      user: token === undefined ? 'logged out' : (user ?? ''),
      current: each === current,
    }));
    if (format) return writeData(invocation, format, rows);
    const width = Math.max(0, ...rows.map((row) => row.name.length));
    for (const row of rows)
      stdout.line(`${row.current ? '*' : ' '} ${row.name.padEnd(width)}  ${row.url}  ${row.user}`);
    return 0;
  },
});
