import { Type } from 'typebox';
import { Fault } from '../../core/errors.ts';
import { formatListen } from '../../core/host-address.ts';
import { Count, ListenAddresses, Networks, oneOf, Path, setting, Switch, type ValuesOf } from '../../core/settings.ts';
import { isLoopback } from './connections.ts';

export const limitSettings = Type.Object({
  maxConnectionsPerAddress: setting(Count, 'open connections allowed from one address', {
    default: 1_024,
    variable: 'MUSTER_MAX_CONNECTIONS_PER_ADDRESS',
  }),
  maxConcurrentPerUser: setting(Count, 'requests that one user may have running at the same time', {
    default: 1_024,
    variable: 'MUSTER_MAX_CONCURRENT_PER_USER',
  }),
  requestTimeout: setting(Count, 'seconds a client may take to send a request', {
    default: 60,
    variable: 'MUSTER_REQUEST_TIMEOUT',
  }),
});
export type LimitSettings = ValuesOf<typeof limitSettings>;

export const xcatwsSettings = Type.Object({
  errors: setting(
    oneOf('specification', 'reference'),
    "error bodies at `/xcatws`: as everywhere else, or with xCAT's texts and codes, for scripts that look for them",
    { default: 'specification' },
  ),
});
export type XcatwsSettings = ValuesOf<typeof xcatwsSettings>;

/** Loopback needs no TLS; elsewhere only a proxy that is named may do without. */
export const httpSettings = Type.Decode(
  Type.Object({
    listen: setting(
      ListenAddresses,
      'addresses and ports to listen on without TLS: loopback addresses, or others that only `http.proxies` can use',
      { defaultText: 'off' },
    ),
    proxies: setting(
      Networks,
      'networks of reverse proxies: from these, the last address in `X-Forwarded-For` that is not a proxy itself is the client; the header is ignored from any other address',
      { defaultText: 'none' },
    ),
  }),
  ({ listen = [], proxies = [] }) => {
    const open = listen.find(({ host }) => proxies.length === 0 && !isLoopback(host));
    if (open) {
      throw new Fault(
        'invalid',
        `http.listen names ${formatListen(open)}, which is no loopback address: passwords would travel in the clear. Name the proxies that may use it in http.proxies, or listen on 127.0.0.1.`,
      );
    }
    return { listen, proxies };
  },
);
export type HttpSettings = ValuesOf<typeof httpSettings>;

/** The socket of this machine, by which root needs no login. */
export const socketSettings = Type.Object({
  enabled: setting(Switch, 'whether to offer a UNIX socket for users of this machine, where `root` needs no login', {
    default: true,
  }),
  path: setting(Path, 'path of that socket', { defaultText: '`DIR/muster.sock`' }),
  accounts: setting(
    Switch,
    'whether other users of this machine can use the socket without a login, as the accounts with their names',
    {
      default: false,
    },
  ),
});

/** The user's own certificate; undefined: muster makes one below the data directory. */
export const tlsSettings = Type.Decode(
  Type.Object({
    certificate: setting(Path, 'your own TLS certificate', { defaultText: 'generated in `DIR/tls`' }),
    key: setting(Path, 'private key of that certificate', { defaultText: 'generated in `DIR/tls`' }),
  }),
  ({ certificate, key }) => {
    if (certificate !== undefined && key !== undefined) return { certificate, key };
    if (certificate === key) return undefined;
    const [given, missing] = certificate === undefined ? ['key', 'certificate'] : ['certificate', 'key'];
    throw new Fault('invalid', `tls.${given} is set but tls.${missing} is not; a certificate of your own needs both.`);
  },
);
