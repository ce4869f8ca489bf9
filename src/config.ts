import { join } from 'node:path';
import { type StaticDecode, Type } from 'typebox';
import type { DataPlace } from './access/open-data.ts';
import { accountSettings, ldapSettings, oidcSettings, pamSettings } from './accounts/index.ts';
import { backupSettings } from './admin/settings.ts';
import { home } from './core/home.ts';
import { logLevels } from './core/log.ts';
import { Count, kind, ListenAddresses, oneOf, Path, PostgresUrl, setting, Switch } from './core/settings.ts';
import { busSettings } from './bus/index.ts';
import { hardwareSettings } from './drivers/index.ts';
import { httpSettings, limitSettings, socketSettings, tlsSettings, xcatwsSettings } from './rest/http/settings.ts';
import { bootSettings } from './boot/index.ts';
import { dhcpSettings, dnsSettings, nameSettings } from './names/index.ts';
import {
  discoverySettings,
  hardwareEventSettings,
  powerBudgetSettings,
  remoteSettings,
  seriesSettings,
} from './nodes/index.ts';
import { consoleSettings } from './consoles/index.ts';
import { hookSettings, metricSettings } from './events/index.ts';
import { imageSettings } from './images/index.ts';
import { longWorkSettings } from './work/index.ts';
import { type Environment, type Flags, loadSettings, unknownVariables } from './load-settings.ts';
import { workerSettings } from './worker/settings.ts';

/** Every setting there is. */
export const allSettings = Type.Object({
  data: setting(Path, 'directory for everything that muster keeps; called DIR below', {
    flag: 'dir',
    default: join(home, 'var'),
    defaultText: '`var/` in the checkout',
  }),
  database: setting(PostgresUrl, '`postgresql://...` URL of a PostgreSQL database to keep the data in', {
    secret: true,
    defaultText: 'none: SQLite in `DIR/muster.sqlite`',
  }),
  databasePasswordFile: setting(Path, 'file with the password for `database`, to keep it out of the URL', {
    defaultText: 'none',
  }),
  listen: setting(ListenAddresses, 'addresses and ports to listen on, with TLS', {
    flag: 'host:port',
    default: ['127.0.0.1:8443'],
  }),
  http: httpSettings,
  socket: socketSettings,
  tls: tlsSettings,
  xcatws: xcatwsSettings,
  limits: limitSettings,
  accounts: accountSettings,
  ldap: ldapSettings,
  pam: pamSettings,
  oidc: oidcSettings,
  hardware: hardwareSettings,
  names: nameSettings,
  dns: dnsSettings,
  dhcp: dhcpSettings,
  boot: bootSettings,
  discovery: discoverySettings,
  remote: remoteSettings,
  consoles: consoleSettings,
  images: imageSettings,
  longWork: longWorkSettings,
  bus: busSettings,
  worker: workerSettings,
  hooks: hookSettings,
  events: hardwareEventSettings,
  powerBudgets: powerBudgetSettings,
  series: seriesSettings,
  metrics: metricSettings,
  backup: backupSettings,
  rangeFiles: setting(Path, 'directory with the files that `^file` in a noderange can read', { defaultText: 'off' }),
  logLevel: setting(oneOf(...logLevels), 'lowest level of messages to log', { default: 'info' }),
  logFile: setting(Path, 'file to log to', { defaultText: 'standard error; under systemd that is the journal' }),
  logFileSize: setting(Count, 'size of a log file, in bytes, after which muster starts a new one', {
    default: 10 << 20,
    defaultText: '10 MiB',
  }),
  logFilesKept: setting(Count, 'full log files to keep, as `FILE.1` (the newest), `FILE.2` ...', { default: 5 }),
  audit: setting(Switch, 'whether to record requests in the audit log', { default: true }),
  newDatabase: setting(
    oneOf('usual', 'bare'),
    "contents of a new database besides root's account: xCAT's usual site attributes and `xcatdefaults` scripts, or nothing",
    { default: 'usual' },
  ),
  rootPassword: setting(kind('a password', Type.String()), "root's password, read at the first start only", {
    onlyVariable: true,
    secret: true,
    defaultText: 'generated and written to `DIR/initial-password`; muster removes that file when the password changes',
  }),
});

export type Config = StaticDecode<typeof allSettings> & {
  /** Variables that look like settings and are none. */
  readonly unknownVariables: readonly string[];
  /** A sentence for every setting of the version before that is still given. */
  readonly earlierSettings: readonly string[];
};

/** Where the data of the server are. */
export const dataPlace = ({ data, database, databasePasswordFile }: Config): DataPlace => ({
  data,
  postgres: database === undefined ? undefined : { url: database, passwordFile: databasePasswordFile },
});

/** Settings of the version before this one. */
const retired: ReadonlySet<string> = new Set(['hardware.rehearsal']);

/** The settings of this start. */
export function loadConfig(flags: Flags, environment: Environment): Config {
  const earlierSettings: string[] = [];
  const warn = (sentence: string): unknown => earlierSettings.push(sentence);
  return {
    ...loadSettings(allSettings, flags, environment, { retired, warn }),
    unknownVariables: unknownVariables(allSettings, environment),
    earlierSettings,
  };
}
