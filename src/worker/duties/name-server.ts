import type { DnsDuty } from '../../bus/index.ts';
import { Fault } from '../../core/errors.ts';
import type { ListenAddress } from '../../core/host-address.ts';
import { bindProgram, type DaemonSpec, packageUser, renderListen } from '../../names/index.ts';
import type { WorkerSettings } from '../settings.ts';
import { configurationFile, readyAt } from './daemon-files.ts';
import { makePlaces, packagePlaces, placesIn } from './named-places.ts';

/** A name server with copies of the zones of the cluster. It goes on with them while the server is away. */
export function nameServer(
  duty: DnsDuty,
  { dnsListen: listen, dnsDirectory }: WorkerSettings,
  ownDirectory: string,
): DaemonSpec {
  const [first] = listen ?? [];
  if (!listen || !first)
    throw new Fault(
      'invalid',
      'It runs no name server, though setupnameserver is set: set worker.dnsListen in its configuration and restart it.',
    );
  const program = bindProgram('named');
  const user = process.getuid?.() === 0 ? packageUser() : undefined;
  const places =
    dnsDirectory === undefined && user ? packagePlaces(ownDirectory) : placesIn(dnsDirectory ?? ownDirectory);
  makePlaces(places, user);
  const text = render(duty, listen, places.zones);
  const configuration = configurationFile(places.configuration, 'named', text, user);
  return {
    name: 'named',
    unit: '',
    command: [program, '-g', ...(user ? ['-u', user.name] : []), '-c', configuration],
    ...readyAt('named', first),
  };
}

/** Seconds between two looks whether a zone has changed at the server. */
const refresh = 15;
const times = `min-refresh-time ${refresh}; max-refresh-time ${refresh}; min-retry-time ${refresh}; max-retry-time ${refresh};`;

const list = (values: readonly string[]): string => values.map((value) => `${value}; `).join('');

function render(duty: DnsDuty, listen: readonly ListenAddress[], directory: string): string {
  const { zones, primary, key, forwarders, forwardOnly, clients } = duty;
  const from = `${primary.host} port ${primary.port}`;
  const lines = [
    '// Written by a worker of muster: changes by hand are lost.',
    `key "${key.name}" { algorithm hmac-sha256; secret "${key.secret}"; };`,
    'controls { };',
    'options {',
    `  directory "${directory}";`,
    `  managed-keys-directory "${directory}";`,
    '  pid-file none;',
    '  session-keyfile none;',
    ...renderListen(listen),
    '  allow-query { any; };',
    `  allow-recursion { localhost; localnets; ${list(clients)}};`,
    '  allow-transfer { none; };',
    '  notify no;',
    // Names of others: a service node may reach nobody but the server.
    `  forwarders { ${forwarders.length > 0 ? list(forwarders) : `${from}; `}};`,
    `  forward ${forwardOnly ? 'only' : 'first'};`,
    '  dnssec-validation no;',
    '};',
    ...zones.map(
      (zone) =>
        `zone "${zone}" { type secondary; primaries { ${from} key "${key.name}"; }; file "db.${zone}"; ${times} };`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}
