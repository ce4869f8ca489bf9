import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'smol-toml';
import { Fault } from './core/errors.ts';
import type { ListenAddress } from './core/listen-address.ts';
import type { LogLevel } from './core/log.ts';
import { settings } from './settings.ts';
import type { DnsSettings } from './services/dns/settings.ts';

export interface Config {
  /** Everything persistent lives below this directory. */
  data: string;
  listen: ListenAddress[];
  /** The user's own certificate; without it muster makes one below the data directory. */
  tls: { certificate: string; key: string } | undefined;
  limits: Limits;
  hardware: HardwareSettings;
  discovery: DiscoverySettings;
  names: NameSettings;
  dns: DnsSettings;
  dhcp: DhcpSettings;
  remote: RemoteSettings;
  /** Where `^file` in a noderange may read; off when undefined. */
  rangeFiles: string | undefined;
  logLevel: LogLevel;
  /** Whether requests are recorded in the audit log. */
  audit: boolean;
  /** Root's password at the first start. */
  rootPassword: string | undefined;
  /** Variables that look like settings and are none. */
  unknownVariables: readonly string[];
}

export interface Limits {
  maxConnectionsPerAddress: number;
  maxConcurrentPerUser: number;
  /** Seconds a client may take to send a request. */
  requestTimeout: number;
}

export interface HardwareSettings {
  /** Seconds a power command may take to reach its state. */
  powerDeadline: number;
  /** A certificate authority, in PEM, that vouches for service processors instead of the first certificate they show. */
  ca: string | undefined;
  /** IPMI cipher suites that may be used, the first that works. */
  ipmiSuites: (17 | 3)[];
  /** Networks that service processors are in; undefined: anywhere. */
  networks: string[] | undefined;
}

export interface DiscoverySettings {
  /** Interfaces, by name or address, to search for devices that announce themselves; undefined: all but loopback. */
  interfaces: string[] | undefined;
  /** Address ranges that are asked one by one too. */
  addresses: string[] | undefined;
  /** Seconds a search may take. */
  seconds: number;
}

export interface NameSettings {
  hostsFile: string;
  /** Whether names of nodes without an address are looked up outside the hosts file. */
  lookup: boolean;
}

export interface DhcpSettings {
  /** Who keeps Kea running; `none`: somebody else does. */
  daemon: 'auto' | 'systemd' | 'process' | 'none';
  /** For Kea's configuration, control sockets and leases. */
  directory: string | undefined;
  /** The URL of Kea's PostgreSQL host table. */
  hostsDatabase: string | undefined;
  /** The URL of the script that iPXE loads. */
  bootScript: string;
}

export interface RemoteSettings {
  /** SSH in this process, or a process of OpenSSH's client for each command. */
  transport: 'ssh2' | 'process';
  /** An ssh_config for the ssh processes. */
  sshConfig: string | undefined;
  /** Where the nodes' sshd listen. */
  port: number;
  /** Whether a host key that is not known is accepted and kept. */
  hostKeys: 'first-use' | 'strict';
  /** Nodes that one command works on at once. */
  fanOut: number;
  /** Seconds from nothing to a started command. */
  connectSeconds: number;
  /** Seconds a command may run on a node. */
  commandSeconds: number;
  /** Seconds an unused connection is kept. */
  keepSeconds: number;
  /** Bytes of a node's output that are kept, at most. */
  outputLimit: number;
  /** Directories whose files may be sent to nodes; undefined: files/ of the data directory, and /install. */
  sources: string[] | undefined;
  /** Networks that nodes are in; undefined: anywhere. */
  networks: string[] | undefined;
  /** The scripts that nodes run; undefined: postscripts/ of the data directory. */
  postscripts: string | undefined;
}

export interface Flags {
  config?: string;
  data?: string;
  listen?: string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

const sections = new Set(Object.keys(settings).flatMap((key) => (key.includes('.') ? key.split('.')[0] : [])));

type Values = Map<string, unknown>;

/** Reads one value; errors say where a wrong one stands (`where`) and as what (`written`), since it has to be changed there. */
function readValue(key: string, value: unknown, base: string, where: string, written = value): unknown {
  const kind = settings[key]?.kind;
  const result = kind?.read(value, base);
  if (result !== undefined) return result;
  throw new Fault('invalid', `${where} must be ${kind?.expected}; it is ${JSON.stringify(written)}.`);
}

function fromFile(file: string): Values {
  const table = parseFile(file);
  const flat = Object.entries(table).flatMap(([key, value]) => {
    if (!sections.has(key)) return [[key, value] as const];
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new Fault('invalid', `${file}: ${key} must be a table, written as [${key}].`);
    }
    return Object.entries(value).map(([inner, each]) => [`${key}.${inner}`, each] as const);
  });
  const base = dirname(resolve(file));
  return new Map(
    flat.map(([key, value]) => {
      if (!Object.hasOwn(settings, key)) {
        const known = Object.keys(settings).join(', ');
        throw new Fault('invalid', `${file}: there is no setting ${key}. The settings are ${known}.`);
      }
      return [key, readValue(key, value, base, `${file}: ${key}`)];
    }),
  );
}

function parseFile(file: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Fault('invalid', `The configuration file ${file} cannot be read: ${(error as Error).message}.`);
  }
  try {
    return parse(text);
  } catch (error) {
    throw new Fault('invalid', `The configuration file ${file} is not valid TOML: ${(error as Error).message.trim()}`);
  }
}

function fromEnvironment(environment: Environment): Values {
  const values: Values = new Map();
  for (const [key, { kind, variable }] of Object.entries(settings)) {
    const text = environment[variable];
    if (!text) continue;
    values.set(key, readValue(key, kind.fromText(text), process.cwd(), `Environment variable ${variable}`, text));
  }
  return values;
}

/** Somebody may have misspelt one that protects something. */
function unknownVariables(environment: Environment): string[] {
  const known = new Set([
    'MUSTER_CONFIG',
    'MUSTER_ROOT_PASSWORD',
    ...Object.values(settings).map((each) => each.variable),
  ]);
  return Object.keys(environment).filter((name) => name.startsWith('MUSTER_') && !known.has(name));
}

function fromFlags(flags: Flags): Values {
  const values: Values = new Map();
  if (flags.data !== undefined) values.set('data', readValue('data', flags.data, process.cwd(), '--data'));
  if (flags.listen?.length) values.set('listen', readValue('listen', flags.listen, process.cwd(), '--listen'));
  return values;
}

const defaults: Values = new Map<string, unknown>([
  ['data', join(import.meta.dirname, '..', 'var')],
  ['listen', [{ host: '127.0.0.1', port: 8443 }]],
  ['limits.maxConnectionsPerAddress', 1_024],
  ['limits.maxConcurrentPerUser', 1_024],
  ['limits.requestTimeout', 60],
  ['hardware.powerDeadline', 60],
  ['hardware.ipmiSuites', [17, 3]],
  ['discovery.seconds', 5],
  ['names.hostsFile', '/etc/hosts'],
  ['names.lookup', true],
  ['dns.daemon', 'auto'],
  ['dhcp.daemon', 'auto'],
  ['dhcp.bootScript', 'http://SERVER/boot/${netX/mac:hexhyp}.ipxe'],
  ['remote.transport', 'ssh2'],
  ['remote.port', 22],
  ['remote.hostKeys', 'first-use'],
  ['remote.fanOut', 256],
  ['remote.connectSeconds', 10],
  ['remote.commandSeconds', 600],
  ['remote.keepSeconds', 30],
  ['remote.outputLimit', 1_048_576],
  ['logLevel', 'info'],
  ['audit', true],
]);

/** The settings of this start. What comes later wins: defaults, configuration file, environment, command line. */
export function loadConfig(flags: Flags, environment: Environment): Config {
  const file = flags.config ?? environment.MUSTER_CONFIG;
  const values: Values = new Map([
    ...defaults,
    ...(file ? fromFile(file) : []),
    ...fromEnvironment(environment),
    ...fromFlags(flags),
  ]);
  // Every value was checked by the kind of its setting, so its type is known.
  const get = <T>(key: string) => values.get(key) as T;
  return {
    data: get('data'),
    listen: get('listen'),
    tls: ownCertificate(get('tls.certificate'), get('tls.key')),
    limits: {
      maxConnectionsPerAddress: get('limits.maxConnectionsPerAddress'),
      maxConcurrentPerUser: get('limits.maxConcurrentPerUser'),
      requestTimeout: get('limits.requestTimeout'),
    },
    hardware: {
      powerDeadline: get('hardware.powerDeadline'),
      ca: get('hardware.ca'),
      ipmiSuites: get('hardware.ipmiSuites'),
      networks: get('hardware.networks'),
    },
    discovery: {
      interfaces: get('discovery.interfaces'),
      addresses: get('discovery.addresses'),
      seconds: get('discovery.seconds'),
    },
    names: { hostsFile: get('names.hostsFile'), lookup: get('names.lookup') },
    dns: {
      daemon: get('dns.daemon'),
      directory: get('dns.directory'),
      configuration: get('dns.configuration'),
      user: get('dns.user'),
      listen: get('dns.listen'),
    },
    dhcp: {
      daemon: get('dhcp.daemon'),
      directory: get('dhcp.directory'),
      hostsDatabase: get('dhcp.hostsDatabase'),
      bootScript: get('dhcp.bootScript'),
    },
    remote: {
      transport: get('remote.transport'),
      sshConfig: get('remote.sshConfig'),
      port: get('remote.port'),
      hostKeys: get('remote.hostKeys'),
      fanOut: get('remote.fanOut'),
      connectSeconds: get('remote.connectSeconds'),
      commandSeconds: get('remote.commandSeconds'),
      keepSeconds: get('remote.keepSeconds'),
      outputLimit: get('remote.outputLimit'),
      sources: get('remote.sources'),
      networks: get('remote.networks'),
      postscripts: get('remote.postscripts'),
    },
    rangeFiles: get('rangeFiles'),
    logLevel: get('logLevel'),
    audit: get('audit'),
    rootPassword: environment.MUSTER_ROOT_PASSWORD || undefined,
    unknownVariables: unknownVariables(environment),
  };
}

function ownCertificate(certificate: string | undefined, key: string | undefined): Config['tls'] {
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate !== undefined && key !== undefined) return { certificate, key };
  const [given, missing] = certificate === undefined ? ['tls.key', 'tls.certificate'] : ['tls.certificate', 'tls.key'];
  throw new Fault('invalid', `${given} is set but ${missing} is not; a certificate of your own needs both.`);
}
