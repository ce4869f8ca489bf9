import { userInfo } from 'node:os';
import { NotReached } from './errors.ts';
import { notTrusted, type Place } from './places.ts';

const notRunning = 'Start the server there (systemctl start muster), or name another one with MUSTER_URL.';
const wrongPlace = 'Name the server with MUSTER_URL or muster login.';
const noWay = 'Check the network and the firewall between here and there.';

/** What is said of an error, and what to do next. */
const known: Readonly<Record<string, readonly [reason: string, next: string]>> = {
  ECONNREFUSED: ['Connection refused', notRunning],
  ENOENT: ['there is no such socket', notRunning],
  ECONNRESET: ['the connection was closed', 'muster doctor checks the connection.'],
  EACCES: ['Permission denied', 'Ask root for access to the socket, or log in over the network with muster login.'],
  ENOTFOUND: ['the name of the host is not known', wrongPlace],
  EAI_AGAIN: ['the name of the host is not known', wrongPlace],
  EHOSTUNREACH: ['No route to host', noWay],
  ENETUNREACH: ['Network is unreachable', noWay],
  ETIMEDOUT: ['Connection timed out', noWay],
  EPROTO: ['what answers there does not speak TLS', wrongPlace],
  CERT_HAS_EXPIRED: ['its certificate has expired', 'A restart of the server renews a certificate that muster made.'],
  ERR_TLS_CERT_ALTNAME_INVALID: ['its certificate is for another name', 'Use the name that is in the certificate.'],
};

const untrusted = new Set([
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

type Failure = Error & { readonly code?: string };

function explained(place: Place, { code = '', message }: Failure): readonly [reason: string, next: string] {
  if (untrusted.has(code)) return [notTrusted(place), ''];
  return known[code.startsWith('ERR_SSL') ? 'EPROTO' : code] ?? [message, 'muster doctor checks the connection.'];
}

export const reasonOf = (place: Place, error: Failure): string => explained(place, error)[0];

/** Nothing was sent: why, where and as whom it was tried, and what to do next. */
export function notReached(place: Place, error: Failure): NotReached {
  const [reason, next] = explained(place, error);
  const tried = `muster tried ${place.shown} (${place.chosen}) ${identity(place)}.`;
  return new NotReached([place.shown], reason, [tried, next].filter(Boolean).join(' '));
}

/** The same where there were several servers to try. */
export function noneReached(failures: readonly (readonly [place: Place, error: Failure])[]): NotReached {
  const reasons = failures.map(([place, error]) => `${place.shown}: ${reasonOf(place, error)}`);
  const tried = new Set(failures.map(([place]) => `(${place.chosen}) ${identity(place)}`));
  const next = new Set(failures.map(([place, error]) => explained(place, error)[1]));
  return new NotReached(
    failures.map(([{ shown }]) => shown),
    reasons.join('; '),
    [`muster tried them in this order ${[...tried].join(', ')}.`, ...next].filter(Boolean).join(' '),
  );
}

/** The connection to one of several servers broke off after something was sent that may change something. */
export const mayHaveArrived = (place: Place, error: Failure): NotReached =>
  new NotReached(
    [place.shown],
    reasonOf(place, error),
    'The request may have arrived there, so muster sent it to no other server. Look at what it was to change before you call the ' +
      'command again; muster runs lists work that goes on.',
  );

/** The connection broke off in the middle of a reply. */
export const brokenOff = (shown: string, { code = '', message }: Failure): NotReached =>
  new NotReached([shown], known[code]?.[0] ?? message, 'Work that had begun may go on there; muster runs lists it.');

function identity({ token, user, socket }: Place): string {
  if (user !== undefined) return `as ${user}`;
  if (token !== undefined) return 'with the token of MUSTER_TOKEN';
  return socket === undefined ? 'without a login' : `as the local user ${localUser()}`;
}

function localUser(): string {
  try {
    return userInfo().username;
  } catch {
    // Some containers have users without names.
    return String(process.getuid?.());
  }
}
