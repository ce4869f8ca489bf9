import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { Count, Path, setting, type ValuesOf } from '../core/settings.ts';

export const limitSettings = Type.Object({
  maxConnectionsPerAddress: setting(Count, 'connections that one address may have open', {
    default: 1_024,
    variable: 'MUSTER_MAX_CONNECTIONS_PER_ADDRESS',
  }),
  maxConcurrentPerUser: setting(Count, 'requests of one user that may run at once', {
    default: 1_024,
    variable: 'MUSTER_MAX_CONCURRENT_PER_USER',
  }),
  requestTimeout: setting(Count, 'seconds a client may take to send a request', {
    default: 60,
    variable: 'MUSTER_REQUEST_TIMEOUT',
  }),
});
export type LimitSettings = ValuesOf<typeof limitSettings>;

/** The user's own certificate; undefined: muster makes one below the data directory. */
export const tlsSettings = Type.Decode(
  Type.Object({
    certificate: setting(Path, 'certificate of your own', { defaultText: 'made below `DIR/tls`' }),
    key: setting(Path, 'its private key', { defaultText: 'made below `DIR/tls`' }),
  }),
  ({ certificate, key }) => {
    if (certificate !== undefined && key !== undefined) return { certificate, key };
    if (certificate === key) return undefined;
    const [given, missing] = certificate === undefined ? ['key', 'certificate'] : ['certificate', 'key'];
    throw new Fault('invalid', `tls.${given} is set but tls.${missing} is not; a certificate of your own needs both.`);
  },
);
