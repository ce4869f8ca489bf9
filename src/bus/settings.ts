import { Type } from 'typebox';
import { Count, kind, Path, setting, type ValuesOf } from '../core/settings.ts';

const isServerUrl = (text: string): boolean => {
  const url = URL.parse(text);
  return url?.protocol === 'tls:' && url.hostname !== '' && ['', '/'].includes(url.pathname) && url.username === '';
};

const BusServers = kind(
  'one or more addresses such as tls://nats1.cluster:4222',
  Type.Array(Type.Refine(Type.String(), isServerUrl), { minItems: 1 }),
);

/** Section `bus`: how servers and workers reach each other. */
export const busSettings = Type.Object({
  servers: setting(BusServers, 'NATS servers over which servers and workers reach each other, as `tls://HOST:PORT`', {
    defaultText: 'none: the server does all work itself',
  }),
  ca: setting(Path, 'PEM file with the certificate authority of the NATS servers', { defaultText: '`DIR/bus/ca.pem`' }),
  credentials: setting(Path, 'file with the key (an nkey seed) that this server or worker logs in to NATS with', {
    defaultText: '`DIR/bus/server.seed`; of a worker `DIR/bus/workers/NAME.seed`',
  }),
  jobSeconds: setting(
    Count,
    'seconds that a worker may spend on a job without a new result, step or node, before the server takes the job away from it; a command of `xdsh -t` gets its own time besides',
    { default: 14_400 },
  ),
  fileCache: setting(Count, 'bytes of files for nodes that a worker keeps', {
    default: 4_294_967_296,
    defaultText: '4 GiB',
  }),
});
export type BusSettings = ValuesOf<typeof busSettings>;
