import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { home as installed } from '../core/home.ts';
import { UsageError } from './errors.ts';

/** Where a server is reached, and as whom. */
export interface Place {
  readonly protocol: 'https:' | 'http:' | 'unix:';
  readonly host: string;
  readonly port: number;
  /** The path of a socket of this machine, instead of host and port. */
  readonly socket?: string;
  /** Before every path. */
  readonly prefix: string;
  readonly token?: string;
  /** The only authority that is believed, as PEM. */
  readonly ca?: string;
  /** HOST:PORT, or the path of the socket. */
  readonly shown: string;
  /** What named it, such as MUSTER_URL. */
  readonly chosen: string;
  /** The account of the login whose token this is. */
  readonly user?: string;
}

/** A server that `muster login` has been called for, or several of one cluster. */
export interface Context {
  /** Addresses, separated by commas. */
  readonly url: string;
  readonly token?: string;
  readonly user?: string;
  /** The authority that was accepted at login, as PEM. */
  readonly ca?: string;
}

export interface Contexts {
  readonly current?: string;
  readonly contexts: Readonly<Record<string, Context>>;
}

type Env = Readonly<Record<string, string | undefined>>;

const defaultPort = 8443;

/** The file that `muster login` writes, for this user alone. */
export const contextsFile = (env: Env): string =>
  join(env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'), 'muster', 'contexts.json');

export function readContexts(env: Env): Contexts {
  let text: string;
  try {
    text = readFileSync(contextsFile(env), 'utf8');
  } catch {
    return { contexts: {} };
  }
  let data: Partial<Contexts>;
  try {
    data = JSON.parse(text) as Partial<Contexts>;
  } catch {
    throw new UsageError(`${contextsFile(env)} is no JSON any more; remove it and log in again.`);
  }
  return { ...(data.current === undefined ? {} : { current: data.current }), contexts: data.contexts ?? {} };
}

/** Several addresses are separated by commas or blanks. */
export const addressesIn = (text: string): readonly string[] => [...new Set(text.split(/[\s,]+/).filter(Boolean))];

/**
 * The server to ask, or several of one cluster in the order to ask them: those of XCATHOST, else of MUSTER_URL, else of the context that
 * MUSTER_CONTEXT names, else the socket MUSTER_SOCKET, else the context logged in to last, else a socket of this machine, else localhost.
 * MUSTER_TOKEN replaces the token, MUSTER_CA (a file) the authority.
 */
export function findPlaces(env: Env): readonly [Place, ...Place[]] {
  const { current, contexts } = readContexts(env);
  const named = env['MUSTER_CONTEXT'] || current;
  const context = named !== undefined && Object.hasOwn(contexts, named) ? contexts[named] : undefined;
  const variable = env['XCATHOST'] ? 'XCATHOST' : 'MUSTER_URL';
  if (env[variable])
    return placesOf(variable, env[variable], (address) => {
      const url = variable === 'XCATHOST' ? `https://${address}` : address;
      const login = Object.values(contexts).find((each) => sameServer(each.url, url)) ?? { url };
      return placeOf(url, env, login, variable);
    });
  const socketNamed = env['MUSTER_CONTEXT'] ? undefined : env['MUSTER_SOCKET'];
  if (socketNamed) return [placeOf(`unix:${socketNamed}`, env, undefined, 'MUSTER_SOCKET')];
  if (context)
    return placesOf(`The login ${named!}`, context.url, (address) =>
      placeOf(address, env, context, `the login ${named!}`),
    );
  // Another server than the one that was meant would carry out the command.
  if (env['MUSTER_CONTEXT'])
    throw new UsageError(`MUSTER_CONTEXT: there is no context "${env['MUSTER_CONTEXT']}"; muster contexts lists them.`);
  const files = [...new Set(sockets(env))];
  const socket = files.find((file) => existsSync(file));
  if (socket !== undefined) return [placeOf(`unix:${socket}`, env, undefined, 'the socket of this machine')];
  const chosen = `there is no login, and no socket ${files.join(' or ')}`;
  return [placeOf(`https://localhost:${defaultPort}`, env, undefined, chosen)];
}

function placesOf(what: string, text: string, place: (address: string) => Place): readonly [Place, ...Place[]] {
  const [first, ...others] = addressesIn(text);
  if (first === undefined) throw new UsageError(`${what} names no server; one is https://mn:8443.`);
  return [place(first), ...others.map(place)];
}

/** Where a server of this machine may listen; the one of a service also has its data in another directory. */
const sockets = (env: Env): string[] => [
  join(env['MUSTER_DATA'] || join(installed, 'var'), 'muster.sock'),
  '/run/muster/muster.sock',
];

export function placeOf(url: string, env: Env, context: Context | undefined, chosen = 'given by name'): Place {
  const token = env['MUSTER_TOKEN'] || context?.token;
  const user = token && token === context?.token ? context.user : undefined;
  const common = { prefix: '/muster', chosen, ...(token ? { token } : {}), ...(user ? { user } : {}) };
  if (url.startsWith('unix:')) {
    const socket = url.slice('unix:'.length).replace(/^\/\/(?=\/)/, '');
    return { protocol: 'unix:', host: 'localhost', port: 0, socket, shown: socket, ...common };
  }
  const parsed = new URL(url.includes('://') ? url : `https://${url}`);
  const protocol = parsed.protocol === 'http:' ? 'http:' : 'https:';
  const host = parsed.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = Number(parsed.port || (protocol === 'http:' ? 80 : defaultPort));
  if (protocol === 'http:' && token && !isThisMachine(host))
    throw new UsageError(`The token would travel to ${host} in clear text: give the server as https://${host}.`);
  const ca = env['MUSTER_CA'] ? authorityIn(env['MUSTER_CA']) : context?.ca;
  return { protocol, host, port, shown: `${parsed.hostname}:${port}`, ...common, ...(ca === undefined ? {} : { ca }) };
}

const isThisMachine = (host: string): boolean => /^(localhost|127(\.\d+){3}|::1)$/.test(host);

/** A file without any would mean the authorities of this machine. */
function authorityIn(file: string): string {
  const text = readFileSync(file, 'utf8');
  if (!/-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/.test(text))
    throw new UsageError(`MUSTER_CA: there is no certificate in ${file}.`);
  return text;
}

/** What to say, and to do, where a certificate is not from the authority that is believed. */
export const notTrusted = ({ ca, shown }: Place): string =>
  ca === undefined
    ? 'its certificate is not trusted; muster login shows it and asks'
    : 'its certificate is not from the authority that was accepted at login or that MUSTER_CA names, so nothing was sent. Either the ' +
      `server has a new authority, or another machine answers in its place; muster login https://${shown} says what to do`;

/** Whether an address is one of those. */
export const sameServer = (addresses: string, other: string): boolean =>
  addressesIn(addresses).some((one) => {
    try {
      const [a, b] = [placeOf(one, {}, undefined), placeOf(other, {}, undefined)];
      // What a server gets by TLS is not sent to it without.
      return a.shown === b.shown && a.protocol === b.protocol;
    } catch {
      return false;
    }
  });

/** Replaces the file in one step; it holds tokens, so nobody else may read it. */
export function changeContexts(env: Env, change: (contexts: Contexts) => Contexts): void {
  const file = contextsFile(env);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.${process.pid}`;
  writeFileSync(fresh, `${JSON.stringify(change(readContexts(env)), null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(fresh, file);
}
