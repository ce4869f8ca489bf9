import { join } from 'node:path';
import { Type } from 'typebox';
import type { Workers } from '../../bus/index.ts';
import type { Logger } from '../../core/log.ts';
import { Count, kind, oneOf, Path, PostgresUrl, setting, type ValuesOf } from '../../core/settings.ts';
import type { Store } from '../../database/store.ts';
import { KeaControl } from '../../protocols/kea/control.ts';
import { makeDaemon, systemdIsThere } from '../daemons/daemon.ts';
import { Dhcp } from './dhcp.ts';
import type { Family } from './document.ts';
import { HostsDatabase } from './hosts-database.ts';
import { installedHooks, ownFiles, systemFiles } from './kea-files.ts';
import { KeaServer } from './kea-server.ts';
import { ServerName } from '../daemon-servers.ts';
import type { Machine } from '../local-networks.ts';

const ScriptUrl = kind(
  'a URL without blanks, quotes and commas, such as http://SERVER/boot/${netX/mac:hexhyp}.ipxe',
  Type.String({ pattern: /^(https?|tftp):\/\/[!#-+\--[\]-~]+$/ }),
);

export const dhcpSettings = Type.Object({
  server: setting(ServerName, 'server that has DHCP, where several servers share a database', {
    defaultText: 'this server',
  }),
  daemon: setting(
    oneOf('auto', 'systemd', 'process', 'none'),
    'what starts and stops Kea: systemd, muster itself (`process`), or neither (`none`)',
    { default: 'auto' },
  ),
  directory: setting(Path, 'directory for the configuration, control sockets and leases of Kea', {
    defaultText: "the package's directories, or `DIR/dhcp`",
  }),
  hostsDatabase: setting(PostgresUrl, "`postgresql://...` URL of Kea's host tables, to keep reservations there", {
    secret: true,
    defaultText: "none: reservations are in Kea's configuration",
  }),
  bootScript: setting(
    ScriptUrl,
    'URL of the script that iPXE loads; muster replaces SERVER by the address that the node boots from',
    {
      secret: true,
      default: 'http://SERVER/boot/${netX/mac:hexhyp}.ipxe',
    },
  ),
  workerTimeout: setting(
    Count,
    'seconds that a worker may be away before its nodes boot from the next one, or from the server',
    { default: 30 },
  ),
});
export type DhcpSettings = ValuesOf<typeof dhcpSettings>;

interface DhcpSurroundings {
  readonly data: string;
  readonly store: Store;
  readonly log: Logger;
  readonly machine: Machine;
  readonly workers?: Workers | undefined;
  /** Words before Kea's own command, for tests that run it in a network namespace. */
  readonly prefix?: readonly string[];
}

/** Kea as the settings say, with what an earlier muster has left. */
export function openDhcp(
  settings: DhcpSettings,
  { data, store, log, machine, workers, prefix = [] }: DhcpSurroundings,
): Dhcp {
  const how = settings.daemon === 'auto' ? (systemdIsThere() ? 'systemd' : 'process') : settings.daemon;
  const directory = settings.directory ?? join(data, 'dhcp');
  const server = (family: Family): KeaServer => {
    const files = how === 'systemd' && !settings.directory ? systemFiles(family) : ownFiles(directory, family);
    const program = [...prefix, `kea-dhcp${family}`];
    const control = new KeaControl(files.socket);
    const spec = {
      name: `kea-dhcp${family}`,
      unit: `kea-dhcp${family}-server.service`,
      command: [...program, '-c', files.configuration],
      env: files.environment,
      ready: () =>
        control.ask('status-get').then(
          () => true,
          () => false,
        ),
    };
    return new KeaServer(
      family,
      files,
      program,
      how === 'none' ? undefined : makeDaemon(spec, { how, log, directory }),
    );
  };
  return new Dhcp({
    store,
    machine,
    log,
    servers: [server(4), server(6)],
    database: settings.hostsDatabase === undefined ? undefined : new HostsDatabase(settings.hostsDatabase),
    hooks: installedHooks(settings.hostsDatabase !== undefined),
    bootScript: settings.bootScript,
    bootFrom: workers && { workers, timeout: settings.workerTimeout * 1_000 },
  });
}
