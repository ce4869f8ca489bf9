import { readFileSync } from 'node:fs';
import { type ClientConfig, type CustomTypesConfig, types } from 'pg';
import { Fault } from '../../core/errors.ts';
import { adviceOnTls, tlsOf } from './tls.ts';

/** Which database, and as whom. */
export interface PostgresPlace {
  /** postgresql://user:password@host:port/name */
  readonly url: string;
  /** A file with the password, read at each connection. */
  readonly passwordFile?: string | undefined;
}

/** Milliseconds. */
const connectTimeout = 5_000;
const statementTimeout = 60_000;
/** How long a server that holds the lock of writers may stop in the middle, as one that is suspended does. */
const idleTimeout = 5_000;
const lockTimeout = 20_000;

const bigint = 20;

/** Numbers here are counters and times, which a number of JavaScript holds. */
const parsers: CustomTypesConfig = {
  getTypeParser: (oid: number, format?: unknown): ((text: string) => unknown) =>
    oid === bigint ? Number : types.getTypeParser(oid, format as 'text'),
};

/** What a URL may have behind its question mark. */
const known = ['host', 'port', 'user', 'password', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'];

/** Where a URL leads. Not by pg, which would take its empty password for the one to use, and ignores what it does not know. */
function serverIn(url: string) {
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const strange = [...searchParams.keys()].find((name) => !known.includes(name));
  if (strange !== undefined)
    throw new Fault(
      'invalid',
      `The URL of the database has the parameter "${strange}", which muster does not know. There are ${known.join(', ')}.`,
    );
  return {
    host: searchParams.get('host') ?? decodeURIComponent(hostname).replace(/^\[(.*)\]$/, '$1'),
    port: Number(searchParams.get('port') ?? port) || 5432,
    user: searchParams.get('user') ?? decodeURIComponent(username),
    password: searchParams.get('password') ?? decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    parameters: searchParams,
  };
}

/** How a client connects. Nothing goes over a network in clear text unless the URL says sslmode=disable. */
export function clientConfig({ url, passwordFile }: PostgresPlace): ClientConfig {
  const { host, port, user, password, database, parameters } = serverIn(url);
  return {
    host: host || 'localhost',
    port,
    ...(user && { user }),
    ...(database && { database }),
    password: passwordFile === undefined ? password : () => passwordIn(passwordFile),
    ssl: tlsOf(parameters, isLocalHost({ url })),
    application_name: 'muster',
    connectionTimeoutMillis: connectTimeout,
    statement_timeout: statementTimeout,
    query_timeout: statementTimeout + connectTimeout,
    lock_timeout: lockTimeout,
    idle_in_transaction_session_timeout: idleTimeout,
    keepAlive: true,
    // What follows another statement does not wait for its answer.
    pipeline: true,
    types: parsers,
  };
}

function passwordIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trimEnd();
  } catch (error) {
    throw new Fault('unavailable', `The password for the database cannot be read: ${(error as Error).message}.`, {
      retryAfter: 5,
    });
  }
}

/** Whether only this machine reaches it. */
export function isLocalHost({ url }: PostgresPlace): boolean {
  const { host } = serverIn(url);
  return host === '' || host.startsWith('/') || ['localhost', '127.0.0.1', '::1'].includes(host);
}

/** Whether nobody but the server that is meant can answer: on its socket, or with a certificate that is checked. */
export function isPrivate({ url }: PostgresPlace): boolean {
  const { host, parameters } = serverIn(url);
  const tls = tlsOf(parameters, isLocalHost({ url }));
  return host.startsWith('/') || (tls !== false && tls.rejectUnauthorized === true);
}

/** The place without a password, for people. */
export function shownPlace({ url }: PostgresPlace): string {
  const { hostname, port, pathname, searchParams } = new URL(url);
  return `${searchParams.get('host') ?? hostname}${port && `:${port}`}${decodeURIComponent(pathname)}`;
}

/** What PostgreSQL itself says has a state of SQL; names of errors of the system, such as EPIPE, may look like one. */
const sqlState = /^(\d\d|F0|HV|P0|XX)[0-9A-Z]{3}$/;

/** Whether PostgreSQL has answered, though with an error. */
export const isAnswered = (error: unknown): boolean => sqlState.test((error as { code?: string }).code ?? '');

/** States of SQL that say that the connection, or the server, is no longer there. */
const lostStates = /^(08|57P0|53300|25P03)/;

/** States of SQL that say that the server lacks disk, memory or time for it. */
const exhaustedStates = /^(53|57014)/;

export function isLost(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  if (code !== undefined && sqlState.test(code)) return lostStates.test(code);
  return code !== undefined || /terminated|timeout|not queryable|closed|ended/i.test(message ?? '');
}

/** What a failure means to an administrator. */
export function explained(error: unknown, place: PostgresPlace): unknown {
  if (error instanceof Fault || !(error instanceof Error)) return error;
  const { code } = error as { code?: string };
  // Node advises an option that muster is not started with.
  const reason = error.message.replace(/; if the root CA is installed locally.*/, '');
  const because = (advice: string): Fault =>
    new Fault('unavailable', `The database ${shownPlace(place)} cannot be used: ${reason}. ${advice}`, {
      retryAfter: 5,
      cause: error,
    });
  const aboutTls = adviceOnTls(error, place.url);
  if (aboutTls !== undefined) return because(aboutTls);
  if (code === '28P01' || code === '28000') {
    const password = place.passwordFile === undefined ? 'the password' : `the password in ${place.passwordFile}`;
    return because(`Check the user, ${password} and pg_hba.conf of PostgreSQL.`);
  }
  if (code === '3D000') return because('Make it there (createdb), owned by the user that muster connects as.');
  if (code === '42501') return because('Let the user that muster connects as own the database.');
  if (code === '25006')
    return because(
      'It only reads, as a replica does: let its address lead to the server of PostgreSQL that takes writes.',
    );
  if (code === '53100') return because('Free space on the disk of PostgreSQL.');
  if (isLost(error)) return because('Check that PostgreSQL runs there and that it can be reached.');
  if (code !== undefined && exhaustedStates.test(code)) return because('The log of PostgreSQL says what it lacks.');
  return error;
}
