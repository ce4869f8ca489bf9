import { relative } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { dotted, ipText, parseIp } from '../../core/ip.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { listItems } from '../../core/list-items.ts';
import { type EffectiveReader, siteValue } from '../../objects/effective.ts';
import { networkOf } from '../../objects/networks.ts';
import { nodeAttribute } from '../../objects/node-attributes.ts';
import { type ImagePaths, isBelow, type PackageSource, parseSources, realPlace } from '../../images/index.ts';
import type { NodeImage } from '../../objects/node-image.ts';
import type { PackageStep } from '../../nodes/index.ts';
import { given, type Value } from './installer.ts';
import { wantedDisk } from './wanted-disk.ts';

/** What a listener knows about the node that asks. */
export interface Asking {
  /** This server as the node reaches its boot files: an address or a name, and the port behind a colon if it is not 80. */
  readonly server: string;
  readonly token: string;
}

/** What nodes get to let us in. */
export interface Access {
  /** The hash of root's password; undefined: there is none, and nobody logs in with one. */
  readonly rootPassword: string | undefined;
  /** The line by which muster may log in. */
  readonly publicKey: string;
}

export interface StaticAddress {
  readonly address: Value;
  readonly mask: Value;
  readonly bits: number;
  readonly family: 4 | 6;
  readonly gateway: Value | undefined;
}

/** All that the answers for one node are made of. */
export interface InstallFacts extends Asking, Access {
  readonly node: string;
  readonly image: NodeImage;
  readonly hostname: Value;
  readonly domain: Value | undefined;
  readonly timezone: Value;
  readonly locale: Value;
  readonly keyboard: Value;
  readonly timeServers: readonly Value[];
  readonly nameServers: readonly Value[];
  /** Which interface is set up; undefined: the one that it booted from. */
  readonly nic: Value | undefined;
  readonly mac: Value | undefined;
  /** Undefined: by DHCP. */
  readonly address: StaticAddress | undefined;
  /** The disk that is installed to, as `osvolume` names it; empty: the first one. */
  readonly disk: Value;
  /** Where packages come from; the first is what is installed from. */
  readonly sources: readonly InstallSource[];
  readonly packages: PackagesWanted;
  /** Whether it has files of its own to fetch. */
  readonly hasOverlay: boolean;
}

export interface PackagesWanted {
  readonly install: readonly string[];
  readonly groups: readonly string[];
  readonly remove: readonly string[];
}

/** The URL of a file for this node alone. */
export const nodeUrl = (
  { server, node, token }: InstallFacts,
  kind: 'answer' | 'report' | 'postscripts' | 'overlay',
  file = '',
) => given(`http://${server}/boot/${kind}/${node}/${token}${file === '' ? '' : `/${file}`}`, `the URL of ${node}`);

type Gathered = Omit<
  InstallFacts,
  keyof Asking | keyof Access | 'image' | 'sources' | 'packages' | 'hasOverlay' | 'node'
>;

/** What the tables say about a node that is installed. */
export function gatherFacts(reader: EffectiveReader, node: string): Gathered {
  const { snapshot } = reader;
  const site = (key: string): string => siteValue(snapshot, key) ?? '';
  const own = (name: string): string => nodeAttribute(reader, node, name) ?? '';
  const ip = parseIp(own('ip'));
  const network = ip && networkOf(snapshot, ip);
  const row = network?.row ?? {};
  const domain = row['domain'] || site('domain');
  const servers = (attribute: string): Value[] => {
    const text = row[attribute] || site(attribute);
    const from = row[attribute] ? `network ${network!.name}: ${attribute}` : `site.${attribute}`;
    // <xcatmaster> is this server as the network sees it, which DHCP names.
    return listItems(text.replaceAll(' ', ','))
      .filter((each) => !each.startsWith('<'))
      .map((each) => hostValue(each, from));
  };
  const nic = own('installnic') || own('primarynic');
  const mac = own('mac').split('|', 1)[0]!.split('!', 1)[0]!;
  const isStatic = site('managedaddressmode').toLowerCase() === 'static';
  return {
    hostname: typed(node, 'name', 'the name of the node'),
    domain:
      domain === ''
        ? undefined
        : typed(domain, 'name', row['domain'] ? `network ${network!.name}: domain` : 'site.domain'),
    timezone: typed(site('timezone') || 'UTC', 'timezone', 'site.timezone'),
    locale: typed(site('locale') || 'en_US.UTF-8', 'locale', 'site.locale'),
    keyboard: typed(site('keyboard') || 'us', 'keyboard', 'site.keyboard'),
    timeServers: servers('ntpservers'),
    nameServers: servers('nameservers'),
    nic: nic === '' || nic === 'mac' ? undefined : typed(nic, 'nic', `${node}: installnic`),
    mac: mac === '' ? undefined : typed(mac, 'mac', `${node}: mac`),
    address: isStatic ? staticAddress(reader, node) : undefined,
    disk: wantedDisk(reader, node),
  };
}

function staticAddress(reader: EffectiveReader, node: string): StaticAddress {
  const text = nodeAttribute(reader, node, 'ip') ?? '';
  const ip = parseIp(text);
  const network = ip && networkOf(reader.snapshot, ip);
  if (!network)
    throw new Fault(
      'invalid',
      `site.managedaddressmode is static, and ${text === '' ? 'the node has no ip' : `its ip ${text} is in no network that is defined`}; give it one, or let it use DHCP.`,
    );
  const gateway = network.row['gateway'] ?? '';
  const { family, bits } = network.prefix;
  return {
    address: given(ipText(ip), `${node}: ip`),
    mask: given(family === 4 ? dotted((2 ** 32 - 2 ** (32 - bits)) >>> 0) : String(bits), 'the mask of its network'),
    bits,
    family,
    gateway:
      gateway === '' || gateway.startsWith('<')
        ? undefined
        : typed(gateway, 'address', `network ${network.name}: gateway`),
  };
}

/** The tree or URL that is installed from. */
export function mainSource({ sources, image }: Pick<InstallFacts, 'sources' | 'image'>): InstallSource {
  const [first] = sources;
  if (first) return first;
  throw new Fault('invalid', `${image.name}: pkgdir must name the tree that copycds made, or the URL of a repository.`);
}

/** Where an installer gets packages from. */
export interface InstallSource {
  readonly url: string;
  /** Behind a URL of apt. */
  readonly suite?: string;
  readonly components: readonly string[];
  /** The directory of a tree that the boot listener serves at the URL. */
  readonly directory?: string;
}

export const isTree = ({ directory }: InstallSource): boolean => directory !== undefined;

/** The place of a directory below the URL of this server; undefined: it is not served. */
export function installPath(installdir: string, directory: string): string | undefined {
  const root = realPlace(installdir);
  return directory !== root && isBelow(directory, root) ? `boot/install/${relative(root, directory)}` : undefined;
}

/** What an attribute such as `pkgdir` names, as nodes reach it. */
export function sourcesOf(
  snapshot: Snapshot,
  paths: ImagePaths,
  image: NodeImage,
  attribute: 'pkgdir' | 'otherpkgdir',
  server: string,
): InstallSource[] {
  const what = `${image.name}: ${attribute}`;
  const admit = (path: string): string => paths.source(snapshot, path, what);
  return parseSources(image.attribute(attribute), what, admit).map((source) =>
    reached(snapshot, paths, source, what, server),
  );
}

function reached(
  snapshot: Snapshot,
  paths: ImagePaths,
  source: PackageSource,
  what: string,
  server: string,
): InstallSource {
  if (source.kind === 'url') {
    const { url, suite, components } = source;
    return { url, components, ...(suite === undefined ? {} : { suite }) };
  }
  const path = installPath(paths.installDirectory(snapshot), source.path);
  if (path === undefined)
    throw new Fault(
      'invalid',
      `${what} ${source.path} is not below ${paths.installDirectory(snapshot)}, the only directory that installers get files from.`,
    );
  return { url: `http://${server}/${path}`, components: [], directory: source.path };
}

/** All steps of package lists at once: an installer takes no order of its own. */
export function wantedOf(steps: readonly PackageStep[]): PackagesWanted {
  const names = [...new Set(steps.flatMap(({ install }) => install))];
  return {
    install: names.filter((name) => !name.startsWith('@')),
    groups: names.filter((name) => name.startsWith('@')),
    remove: [...new Set(steps.flatMap(({ removeBefore, removeAfter }) => [...removeBefore, ...removeAfter]))],
  };
}

/** What the values that answer files are made of look like. */
const types = {
  name: /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/,
  timezone: /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/,
  locale: /^[A-Za-z]{1,8}(_[A-Z]{2})?(\.[A-Za-z0-9-]+)?(@[a-z]+)?$/,
  keyboard: /^[a-z][a-z0-9-]{0,31}$/,
  nic: /^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$/,
  mac: /^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$/,
  disk: /^\/dev\/[A-Za-z0-9][A-Za-z0-9._:+@/-]*$/,
} as const;

const shown: Readonly<Record<keyof typeof types | 'address', string>> = {
  name: 'a host or domain name',
  timezone: 'a time zone such as Europe/Vienna',
  locale: 'a locale such as en_US.UTF-8',
  keyboard: 'a keyboard layout such as us',
  nic: 'the name of a network interface',
  mac: 'a MAC address',
  disk: 'a disk such as /dev/sda',
  address: 'an IP address',
};

/** A value that must look like what it is used as. */
export function typed(text: string, type: keyof typeof shown, from: string): Value {
  const fits = type === 'address' ? parseIp(text) !== undefined : types[type].test(text) && !text.includes('..');
  if (fits) return given(text, from);
  throw new Fault('invalid', `${from} is ${JSON.stringify(text)}, which is not ${shown[type]}.`);
}

/** A name or an address of a host. */
const hostValue = (text: string, from: string): Value =>
  typed(text, parseIp(text) === undefined ? 'name' : 'address', from);
