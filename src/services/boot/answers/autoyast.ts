import { type InstallFacts, mainSource } from './facts.ts';
import { type Block, type Installer, majorOf, unusable } from './installer.ts';
import { given, pieces } from './pieces.ts';
import { render } from './writers/writer.ts';
import { XmlWriter } from './writers/xml.ts';

const listed = (element: string, names: readonly string[]): Block =>
  names.map((name) => [`<${element}>`, given(name, 'pkglist'), `</${element}>`]);

/** AutoYaST: SLES and openSUSE. */
export const autoyast: Installer = {
  name: 'autoyast',
  file: 'autoinst.xml',
  write: (all) => render(all, new XmlWriter(all.filter((piece) => typeof piece === 'string').join(''))),
  blocks: {
    YAST2NET: network,
    ROOTPASSWORD: ({ rootPassword }) => [
      ['<encrypted config:type="boolean">true</encrypted>'],
      pieces`<user_password>${given(rootPassword ?? '!', "root's password")}</user_password>`,
    ],
    TIMESERVERS: ({ timeServers }) =>
      timeServers.flatMap((server) => [
        ['<ntp_server>'],
        pieces`  <address>${server}</address>`,
        ['  <iburst config:type="boolean">true</iburst>'],
        ['</ntp_server>'],
      ]),
    KEY: ({ publicKey }) => [pieces`<listentry>${given(publicKey, "muster's public key")}</listentry>`],
    PRODUCT: ({ image }) => [[image.os.startsWith('sle') ? 'SLES' : 'Leap']],
    INSTALL_SOURCES: addOns,
  },
  partitions: ({ definition, script, disk, diskScript, answers }) => {
    if (script ?? diskScript ?? answers)
      throw unusable('AutoYaST takes drives as XML, no scripts or answers', 'name a file with <drive> elements');
    const device: Block = disk === undefined ? [] : [pieces`  <device>${given(disk, 'partitionfile')}</device>`];
    return (
      definition ?? [
        ['<drive>'],
        ...device,
        ['  <initialize config:type="boolean">true</initialize>'],
        ['  <use>all</use>'],
        ['</drive>'],
      ]
    );
  },
  packages: (names) =>
    listed(
      'package',
      names.filter((name) => !name.startsWith('@')),
    ),
  groups: (names) =>
    listed(
      'pattern',
      names.map((name) => name.replace(/^@\^?/, '')),
    ),
  removed: (names) => listed('package', names),
};

/** What a medium of SLES holds beside the system that only installs itself. */
const modules = ['basesystem', 'server-applications'] as const;
const directories = { basesystem: 'Module-Basesystem', 'server-applications': 'Module-Server-Applications' } as const;

function addOns(facts: InstallFacts): Block {
  const main = mainSource(facts);
  const isModular = facts.image.os.startsWith('sle') && majorOf(facts.image.os) >= 15;
  const parts = isModular
    ? modules.map((name) => [
        pieces`  <media_url>${given(main.url, 'pkgdir')}</media_url>`,
        [`  <product>sle-module-${name}</product>`],
        [`  <product_dir>/${directories[name]}</product_dir>`],
      ])
    : [];
  const others = facts.sources
    .filter((source) => source !== main)
    .map(({ url }, index) => [
      pieces`  <media_url>${given(url, 'pkgdir')}</media_url>`,
      [`  <name>muster-${index + 1}</name>`],
    ]);
  return [...parts, ...others].flatMap((part) => [['<listentry>'], ...part, ['</listentry>']]);
}

function network({ hostname, domain, nic, mac, address, nameServers }: InstallFacts): Block {
  const device = nic ?? given('eth0', 'muster');
  const servers: Block = nameServers.map((server) => pieces`    <nameserver>${server}</nameserver>`);
  const names: Block = [
    ['<dns>'],
    pieces`  <hostname>${hostname}</hostname>`,
    ...(domain ? [pieces`  <domain>${domain}</domain>`] : []),
    ...(servers.length > 0 && address
      ? [['  <nameservers config:type="list">'], ...servers, ['  </nameservers>']]
      : []),
    ['</dns>'],
  ];
  // The interface that the installer came by is kept as it is.
  if (!address) return [['<keep_install_network config:type="boolean">true</keep_install_network>'], ...names];
  const route: Block = address.gateway
    ? [
        ['<routing>'],
        ['  <routes config:type="list">'],
        ['    <route>'],
        ['      <destination>default</destination>'],
        pieces`      <gateway>${address.gateway}</gateway>`,
        ['    </route>'],
        ['  </routes>'],
        ['</routing>'],
      ]
    : [];
  const udev: Block = mac
    ? [
        ['<net-udev config:type="list">'],
        ['  <rule>'],
        pieces`    <name>${device}</name>`,
        ['    <rule>ATTR{address}</rule>'],
        pieces`    <value>${mac}</value>`,
        ['  </rule>'],
        ['</net-udev>'],
      ]
    : [];
  return [
    ...names,
    ['<interfaces config:type="list">'],
    ['  <interface>'],
    ['    <bootproto>static</bootproto>'],
    pieces`    <name>${device}</name>`,
    pieces`    <ipaddr>${address.address}</ipaddr>`,
    [`    <prefixlen>${address.bits}</prefixlen>`],
    ['    <startmode>auto</startmode>'],
    ['  </interface>'],
    ['</interfaces>'],
    ...udev,
    ...route,
  ];
}
