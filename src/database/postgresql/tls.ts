import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { Fault } from '../../core/errors.ts';

/** What sslmode says. Where libpq would believe any certificate, it is checked here. */
const modes: Readonly<Record<string, { readonly isOff?: boolean; readonly isBlind?: boolean }>> = {
  disable: { isOff: true },
  'no-verify': { isBlind: true },
  require: {},
  'verify-ca': {},
  'verify-full': {},
};

/** How a connection is encrypted; false: not at all. On a network it is, and its certificate is checked, unless the URL says otherwise. */
export function tlsOf(parameters: URLSearchParams, isLocal: boolean): ConnectionOptions | false {
  const said = parameters.get('sslmode');
  const mode = said === null ? {} : modes[said];
  if (!mode)
    throw new Fault(
      'invalid',
      `The URL of the database has sslmode=${said}, which muster does not know. There are ${Object.keys(modes).join(', ')}.`,
    );
  const files = { ca: 'sslrootcert', cert: 'sslcert', key: 'sslkey' } as const;
  const given = Object.entries(files).flatMap(([option, name]) => {
    const file = parameters.get(name);
    return file === null ? [] : [[option, contentOf(file, name)] as const];
  });
  if (mode.isOff || (said === null && isLocal && given.length === 0)) return false;
  return { ...Object.fromEntries(given), rejectUnauthorized: !mode.isBlind };
}

function contentOf(file: string, name: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Fault(
      'invalid',
      `The file that ${name} in the URL of the database names cannot be read: ${(error as Error).message}.`,
    );
  }
}

const untrusted = new Set([
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** What to do about a failure of TLS; undefined if it is none. */
export function adviceOnTls({ code = '', message }: Error & { code?: string }, url: string): string | undefined {
  const authority = new URL(url).searchParams.get('sslrootcert');
  if (untrusted.has(code))
    return authority === null
      ? 'The authority of its certificate is not known here. Name a file with that authority at the end of the URL: ?sslrootcert=FILE.'
      : `Its certificate is not from the authority in ${authority}, which sslrootcert in the URL names. Either the file is not the right one, or another machine answers there.`;
  switch (code) {
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return 'Write a name into the URL that the certificate has, or give PostgreSQL a certificate with this name.';
    case 'CERT_HAS_EXPIRED':
      return 'Give PostgreSQL a new certificate.';
    case 'CERT_NOT_YET_VALID':
      return 'Check the clocks of both machines.';
    default:
      return message === 'The server does not support SSL connections'
        ? 'Turn TLS on there (ssl = on in postgresql.conf). If the network is yours alone, ?sslmode=disable at the end of the URL does without.'
        : undefined;
  }
}
