import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'smol-toml';
import { parseNetwork } from './core/address-guard.ts';
import { Fault } from './core/errors.ts';
import { type ListenAddress, parseListen } from './core/listen-address.ts';
import { type LogLevel, logLevels } from './core/log.ts';

export interface Config {
  /** Everything persistent lives below this directory. */
  data: string;
  listen: ListenAddress[];
  /** The user's own certificate; without it muster makes one below the data directory. */
  tls: { certificate: string; key: string } | undefined;
  limits: Limits;
  hardware: HardwareSettings;
  /** Where `^file` in a noderange may read; off when undefined. */
  rangeFiles: string | undefined;
  logLevel: LogLevel;
  /** Whether requests are recorded in the audit log. */
  audit: boolean;
  /** Root's password at the first start. */
  rootPassword: string | undefined;
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

export interface Flags {
  config?: string;
  data?: string;
  listen?: string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** How a kind of value is read from TOML (`value`) or from text; `undefined` means it is not of that kind. */
interface Kind {
  expected: string;
  read(value: unknown, base: string): unknown;
  fromText(text: string): unknown;
}

const asIs = (text: string) => text;

const path: Kind = {
  expected: 'a path, as a string',
  read: (value, base) => (typeof value === 'string' && value !== '' ? resolve(base, value) : undefined),
  fromText: asIs,
};

const count: Kind = {
  expected: 'a whole number of at least 1',
  read: (value) => (Number.isSafeInteger(value) && Number(value) >= 1 ? value : undefined),
  fromText: Number,
};

const level: Kind = {
  expected: `one of ${logLevels.join(', ')}`,
  read: (value) => logLevels.find((name) => name === value),
  fromText: asIs,
};

const flag: Kind = {
  expected: 'true or false',
  read: (value) => (typeof value === 'boolean' ? value : undefined),
  fromText: (text) => (text === 'true' ? true : text === 'false' ? false : text),
};

const addresses: Kind = {
  expected: 'one or more addresses HOST:PORT (an IPv6 address in brackets)',
  read(value) {
    const list = typeof value === 'string' ? [value] : value;
    if (!Array.isArray(list) || list.length === 0) return undefined;
    const parsed = list.map((each) => (typeof each === 'string' ? parseListen(each) : undefined));
    return parsed.includes(undefined) ? undefined : parsed;
  },
  fromText: (text) => text.split(',').map((piece) => piece.trim()),
};

const networks: Kind = {
  expected: 'one or more networks such as 10.1.0.0/16',
  read(value) {
    const list = typeof value === 'string' ? [value] : value;
    if (!Array.isArray(list) || list.length === 0) return undefined;
    return list.every((each) => typeof each === 'string' && parseNetwork(each)) ? list : undefined;
  },
  fromText: (text) => text.split(',').map((piece) => piece.trim()),
};

const suites: Kind = {
  expected: 'a list of the IPMI cipher suites 17 and 3',
  read: (value) =>
    Array.isArray(value) && value.length > 0 && value.every((each) => each === 17 || each === 3) ? value : undefined,
  fromText: (text) => text.split(',').map(Number),
};

const settings: Record<string, { kind: Kind; variable: string }> = {
  data: { kind: path, variable: 'MUSTER_DATA' },
  listen: { kind: addresses, variable: 'MUSTER_LISTEN' },
  'tls.certificate': { kind: path, variable: 'MUSTER_TLS_CERTIFICATE' },
  'tls.key': { kind: path, variable: 'MUSTER_TLS_KEY' },
  'limits.maxConnectionsPerAddress': { kind: count, variable: 'MUSTER_MAX_CONNECTIONS_PER_ADDRESS' },
  'limits.maxConcurrentPerUser': { kind: count, variable: 'MUSTER_MAX_CONCURRENT_PER_USER' },
  'limits.requestTimeout': { kind: count, variable: 'MUSTER_REQUEST_TIMEOUT' },
  'hardware.powerDeadline': { kind: count, variable: 'MUSTER_POWER_DEADLINE' },
  'hardware.ca': { kind: path, variable: 'MUSTER_HARDWARE_CA' },
  'hardware.ipmiSuites': { kind: suites, variable: 'MUSTER_IPMI_SUITES' },
  'hardware.networks': { kind: networks, variable: 'MUSTER_HARDWARE_NETWORKS' },
  rangeFiles: { kind: path, variable: 'MUSTER_RANGE_FILES' },
  logLevel: { kind: level, variable: 'MUSTER_LOG_LEVEL' },
  audit: { kind: flag, variable: 'MUSTER_AUDIT' },
};

const sections = new Set(Object.keys(settings).flatMap((key) => (key.includes('.') ? key.split('.')[0] : [])));

type Values = Map<string, unknown>;

/** Reads one value; `where` says where the user finds it, since that is where a wrong one has to be changed. */
function readValue(key: string, value: unknown, base: string, where: string): unknown {
  const kind = settings[key]?.kind;
  const result = kind?.read(value, base);
  if (result !== undefined) return result;
  throw new Fault('invalid', `${where} must be ${kind?.expected}; it is ${JSON.stringify(value)}.`);
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
    if (text) values.set(key, readValue(key, kind.fromText(text), process.cwd(), `Environment variable ${variable}`));
  }
  return values;
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
    rangeFiles: get('rangeFiles'),
    logLevel: get('logLevel'),
    audit: get('audit'),
    rootPassword: environment.MUSTER_ROOT_PASSWORD || undefined,
  };
}

function ownCertificate(certificate: string | undefined, key: string | undefined): Config['tls'] {
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate !== undefined && key !== undefined) return { certificate, key };
  const [given, missing] = certificate === undefined ? ['tls.key', 'tls.certificate'] : ['tls.certificate', 'tls.key'];
  throw new Fault('invalid', `${given} is set but ${missing} is not; a certificate of your own needs both.`);
}
