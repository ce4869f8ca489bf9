import { join } from 'node:path';
import { Type } from 'typebox';
import type { Logger } from '../../core/log.ts';
import { kind, oneOf, Path, setting, type ValuesOf } from '../../core/settings.ts';
import type { Store } from '../../database/store.ts';
import { KeaControl } from '../../protocols/kea/control.ts';
import { makeDaemon, systemdIsThere } from '../daemons/daemon.ts';
import { Dhcp } from './dhcp.ts';
import type { Family } from './document.ts';
import { HostsDatabase } from './hosts-database.ts';
import { installedHooks, ownFiles, systemFiles } from './kea-files.ts';
import { KeaServer } from './kea-server.ts';
import type { Machine } from '../local-networks.ts';

const PostgresUrl = kind(
  'a URL postgresql://user:password@host:port/name',
  Type.Refine(Type.String(), (text) => /^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? '')),
);
const ScriptUrl = kind(
  'a URL without blanks, quotes and commas, such as http://SERVER/boot/${netX/mac:hexhyp}.ipxe',
  Type.String({ pattern: /^(https?|tftp):\/\/[!#-+\--[\]-~]+$/ }),
);

export const dhcpSettings = Type.Object({
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
    'URL of the script that iPXE loads; muster replaces SERVER by the address of the server',
    {
      secret: true,
      default: 'http://SERVER/boot/${netX/mac:hexhyp}.ipxe',
    },
  ),
});
export type DhcpSettings = ValuesOf<typeof dhcpSettings>;

interface DhcpSurroundings {
  readonly data: string;
  readonly store: Store;
  readonly log: Logger;
  readonly machine: Machine;
  /** Words before Kea's own command, for tests that run it in a network namespace. */
  readonly prefix?: readonly string[];
}

/** Kea as the settings say, with what an earlier muster has left. */
export function openDhcp(settings: DhcpSettings, { data, store, log, machine, prefix = [] }: DhcpSurroundings): Dhcp {
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
  });
}
