import { resolve } from 'node:path';
import { parseNetwork } from './core/address-guard.ts';
import { expandAddresses } from './core/address-range.ts';
import { parseListen } from './core/listen-address.ts';
import { logLevels } from './core/log.ts';

/** How a kind of value is read from TOML (`value`) or from text; `undefined` means it is not of that kind. */
export interface Kind {
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

const paths: Kind = {
  expected: 'one or more paths',
  read(value, base) {
    const list = typeof value === 'string' ? [value] : value;
    if (!Array.isArray(list) || list.length === 0) return undefined;
    const resolved = list.map((each) => path.read(each, base));
    return resolved.includes(undefined) ? undefined : resolved;
  },
  fromText: (text) => text.split(',').map((piece) => piece.trim()),
};

const count: Kind = {
  expected: 'a whole number of at least 1',
  read: (value) => (Number.isSafeInteger(value) && Number(value) >= 1 ? value : undefined),
  fromText: Number,
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

const names: Kind = {
  expected: 'one or more names',
  read(value) {
    const list = typeof value === 'string' ? [value] : value;
    if (!Array.isArray(list) || list.length === 0) return undefined;
    return list.every((each) => typeof each === 'string' && each !== '') ? list : undefined;
  },
  fromText: (text) => text.split(',').map((piece) => piece.trim()),
};

const mostRangeAddresses = 1_024;

const ranges: Kind = {
  expected: `one or more address ranges such as 10.1.0.1-10.1.0.20, of at most ${mostRangeAddresses} addresses together`,
  read(value, base) {
    const list = names.read(value, base) as string[] | undefined;
    try {
      return list && expandAddresses(list.join(',')).length <= mostRangeAddresses ? list : undefined;
    } catch {
      return undefined;
    }
  },
  fromText: names.fromText,
};

const suites: Kind = {
  expected: 'a list of the IPMI cipher suites 17 and 3',
  read: (value) =>
    Array.isArray(value) && value.length > 0 && value.every((each) => each === 17 || each === 3) ? value : undefined,
  fromText: (text) => text.split(',').map(Number),
};

const oneOf = (...values: string[]): Kind => ({
  expected: `one of ${values.join(', ')}`,
  read: (value) => values.find((name) => name === value),
  fromText: asIs,
});

const databaseUrl: Kind = {
  expected: 'a URL postgresql://user:password@host:port/name',
  read: (value) =>
    typeof value === 'string' && /^postgres(ql)?:$/.test(URL.parse(value)?.protocol ?? '') ? value : undefined,
  fromText: asIs,
};

const scriptUrl: Kind = {
  expected: 'a URL without blanks, quotes and commas, such as http://SERVER/boot/${netX/mac:hexhyp}.ipxe',
  read: (value) => (typeof value === 'string' && /^(https?|tftp):\/\/[!#-+\--[\]-~]+$/.test(value) ? value : undefined),
  fromText: asIs,
};

const userName: Kind = {
  expected: 'the name of a user of this machine',
  read: (value) => (typeof value === 'string' && /^[a-z_][a-z0-9_-]*$/.test(value) ? value : undefined),
  fromText: asIs,
};

/** Every setting by its name in the file, with the kind of its value and its environment variable. */
export const settings: Record<string, { kind: Kind; variable: string }> = {
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
  'discovery.interfaces': { kind: names, variable: 'MUSTER_DISCOVERY_INTERFACES' },
  'discovery.addresses': { kind: ranges, variable: 'MUSTER_DISCOVERY_ADDRESSES' },
  'discovery.seconds': { kind: count, variable: 'MUSTER_DISCOVERY_SECONDS' },
  'names.hostsFile': { kind: path, variable: 'MUSTER_HOSTS_FILE' },
  'names.lookup': { kind: flag, variable: 'MUSTER_NAME_LOOKUP' },
  'dns.daemon': { kind: oneOf('auto', 'systemd', 'process', 'none'), variable: 'MUSTER_DNS_DAEMON' },
  'dns.directory': { kind: path, variable: 'MUSTER_DNS_DIRECTORY' },
  'dns.configuration': { kind: path, variable: 'MUSTER_DNS_CONFIGURATION' },
  'dns.user': { kind: userName, variable: 'MUSTER_DNS_USER' },
  'dns.listen': { kind: addresses, variable: 'MUSTER_DNS_LISTEN' },
  'dhcp.daemon': { kind: oneOf('auto', 'systemd', 'process', 'none'), variable: 'MUSTER_DHCP_DAEMON' },
  'dhcp.directory': { kind: path, variable: 'MUSTER_DHCP_DIRECTORY' },
  'dhcp.hostsDatabase': { kind: databaseUrl, variable: 'MUSTER_DHCP_HOSTS_DATABASE' },
  'dhcp.bootScript': { kind: scriptUrl, variable: 'MUSTER_DHCP_BOOT_SCRIPT' },
  'remote.transport': { kind: oneOf('ssh2', 'process'), variable: 'MUSTER_REMOTE_TRANSPORT' },
  'remote.sshConfig': { kind: path, variable: 'MUSTER_REMOTE_SSH_CONFIG' },
  'remote.port': { kind: count, variable: 'MUSTER_REMOTE_PORT' },
  'remote.hostKeys': { kind: oneOf('first-use', 'strict'), variable: 'MUSTER_REMOTE_HOST_KEYS' },
  'remote.fanOut': { kind: count, variable: 'MUSTER_REMOTE_FAN_OUT' },
  'remote.connectSeconds': { kind: count, variable: 'MUSTER_REMOTE_CONNECT_SECONDS' },
  'remote.commandSeconds': { kind: count, variable: 'MUSTER_REMOTE_COMMAND_SECONDS' },
  'remote.keepSeconds': { kind: count, variable: 'MUSTER_REMOTE_KEEP_SECONDS' },
  'remote.outputLimit': { kind: count, variable: 'MUSTER_REMOTE_OUTPUT_LIMIT' },
  'remote.sources': { kind: paths, variable: 'MUSTER_REMOTE_SOURCES' },
  'remote.networks': { kind: networks, variable: 'MUSTER_REMOTE_NETWORKS' },
  'remote.postscripts': { kind: path, variable: 'MUSTER_REMOTE_POSTSCRIPTS' },
  rangeFiles: { kind: path, variable: 'MUSTER_RANGE_FILES' },
  logLevel: { kind: oneOf(...logLevels), variable: 'MUSTER_LOG_LEVEL' },
  audit: { kind: flag, variable: 'MUSTER_AUDIT' },
};
