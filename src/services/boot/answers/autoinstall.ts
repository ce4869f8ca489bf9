import { type InstallFacts, mainSource } from './facts.ts';
import { isTree } from './install-source.ts';
import { type Block, type Installer, unusable } from './installer.ts';
import { given, type Piece, pieces } from './pieces.ts';
import { renderYaml } from './writers/yaml.ts';

const listed = (names: readonly string[]): Block =>
  names.length === 0 ? [['[]']] : names.map((name) => pieces`- ${given(name, 'pkglist')}`);

/** Subiquity: Ubuntu from 20.04 on. */
export const autoinstall: Installer = {
  name: 'autoinstall',
  file: 'user-data',
  write: renderYaml,
  blocks: {
    APT: mirror,
    NETWORK: network,
    ROOT: ({ rootPassword, publicKey }) => [
      ['- name: root'],
      [`  lock_passwd: ${rootPassword === undefined}`],
      ...(rootPassword === undefined ? [] : [pieces`  hashed_passwd: ${given(rootPassword, "root's password")}`]),
      ['  ssh_authorized_keys:'],
      pieces`    - ${given(publicKey, "muster's public key")}`,
    ],
    NTP: ({ timeServers }) =>
      timeServers.length === 0
        ? [['ntp: {enabled: false}']]
        : [['ntp:'], ['  enabled: true'], ['  servers:'], ...timeServers.map((server) => pieces`    - ${server}`)],
  },
  partitions: ({ definition, script, disk, diskScript, answers }) => {
    if (script ?? disk ?? diskScript ?? answers)
      throw unusable(
        'the installer of Ubuntu takes the text below "storage:", no scripts, disks or answers',
        'name such a file',
      );
    return definition ?? [['layout:'], ['  name: lvm']];
  },
  packages: (names) => listed(names.map((name) => name.replace(/^@/, ''))),
  groups: () => [],
  removed: listed,
  async others(_partitions, { node, hostname, domain }) {
    const name = domain ? `${hostname.value}.${domain.value}` : hostname.value;
    const { stringify } = await import('yaml');
    const text = stringify({ 'instance-id': `muster-${node}`, 'local-hostname': name }, { version: '1.1' });
    return [
      { name: 'meta-data', text },
      { name: 'vendor-data', text: '' },
    ];
  },
};

/** A tree is what the installer runs from; packages beyond it come from mirrors only. */
function mirror(facts: InstallFacts): Block {
  const source = mainSource(facts);
  if (isTree(source)) return [['apt:'], ['  fallback: offline-install']];
  return [
    ['apt:'],
    ['  preserve_sources_list: false'],
    ['  primary:'],
    ['    - arches: [default]'],
    pieces`      uri: ${given(source.url, 'pkgdir')}`,
  ];
}

function network({ nic, mac, address, nameServers, domain }: InstallFacts): Block {
  const [name, match]: [Piece[], Block] = nic
    ? [[nic], []]
    : [['boot'], [['match:'], mac ? pieces`  macaddress: "${mac}"` : ['  name: "e*"']]];
  const below = (lines: Block): Block => lines.map((line) => ['      ', ...line]);
  const servers: Block =
    address && (nameServers.length > 0 || domain)
      ? [
          ['nameservers:'],
          ...(domain ? [pieces`  search: ["${domain}"]`] : []),
          ...(nameServers.length > 0
            ? [['  addresses:'], ...nameServers.map((server) => pieces`    - "${server}"`)]
            : []),
        ]
      : [];
  const own: Block = address
    ? [
        ['addresses:'],
        pieces`  - "${address.address}/${[String(address.bits)]}"`,
        ...(address.gateway ? [['routes:'], ['  - to: default'], pieces`    via: "${address.gateway}"`] : []),
        ...servers,
      ]
    : [['dhcp4: true'], ['dhcp6: true'], ['optional: true']];
  return [['version: 2'], ['ethernets:'], ['  ', ...name, ':'], ...below([...match, ...own]).map((line) => line)];
}
