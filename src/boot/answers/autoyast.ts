import { Fault } from '../../core/errors.ts';
import { type InstallFacts, mainSource, nodeUrl } from './facts.ts';
import { type Block, given, givenSecret, type Installer, majorOf, pieces, unusable, type Value } from './installer.ts';
import { ShellText } from './shell-text.ts';
import { checkChosen, chosenDisk, diskScript } from './wanted-disk.ts';
import { having, plainOnly, render, type Writer } from './writer.ts';

const listed = (element: string, names: readonly string[]): Block =>
  names.map((name) => [`<${element}>`, given(name, 'pkglist'), `</${element}>`]);

/** AutoYaST: SLES and openSUSE. */
export const autoyast: Installer = {
  name: 'autoyast',
  file: 'autoinst.xml',
  write: (all) =>
    checkChosen(
      render(all, new XmlWriter(all.filter((piece) => typeof piece === 'string').join(''))),
      'to a script of pre-scripts',
    ),
  blocks: {
    YAST2NET: network,
    ROOTPASSWORD: ({ rootPassword }) => [
      ['<encrypted config:type="boolean">true</encrypted>'],
      pieces`<user_password>${givenSecret(rootPassword ?? '!', "root's password")}</user_password>`,
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
    CHOOSE_DISK: (facts) => [
      pieces`curl -sf -m 300 --retry 5 -o /tmp/disk.sh ${nodeUrl(facts, 'answer', 'disk.sh')} && sh /tmp/disk.sh || curl -s -m 60 --retry 5 -H 'Content-Type: text/plain' --data-binary 'failed There is no disk to install to.' ${nodeUrl(facts, 'report')}`,
    ],
    // The installer refuses a list without packages.
    REMOVEDPACKAGES: ({ packages: { remove } }) =>
      remove.length === 0
        ? []
        : [['<remove-packages config:type="list">'], ...listed('package', remove), ['</remove-packages>']],
  },
  partitions: ({ definition, script, disk, diskScript: ownScript, answers }, { disk: wanted }) => {
    if (script ?? ownScript ?? answers)
      throw unusable('AutoYaST takes drives as XML, no scripts or answers', 'name a file with <drive> elements');
    const isNamed = disk !== undefined && wanted.value === '';
    const device = isNamed ? [given(disk, 'partitionfile')] : [chosenDisk];
    return (
      definition ?? [
        ['<drive>'],
        pieces`  <device>${device}</device>`,
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
  // AutoYaST takes what scripts leave there in place of its answers.
  others: (_partitions, { disk }) => [{ name: 'disk.sh', text: diskScript(disk, ...writesProfile) }],
};

const profiles = '/tmp/profile';
const writesProfile = [
  `mkdir -p ${profiles}/modified`,
  `sed "s|${chosenDisk}|/dev/$disk|g" ${profiles}/autoinst.xml >${profiles}/modified/autoinst.xml`,
];

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

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

const escapeXml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => entities[character]!);

type State = 'text' | 'tag' | 'comment' | 'cdata' | 'instruction';

/** AutoYaST's XML: texts, values of attributes, and scripts in CDATA sections. */
export class XmlWriter implements Writer {
  #state: State = 'text';
  /** What was read of a tag, or the last characters of what ends with a mark. */
  #read = '';
  #quote = '';
  #element = '';
  #script = new ShellText();
  readonly #isShell: boolean;

  /** Scripts of a file that names another interpreter are not taken for those of a shell. */
  constructor(template: string) {
    this.#isShell = [...template.matchAll(/<interpreter>([^<]*)/g)].every(([, name]) => name!.trim() === 'shell');
  }

  text(text: string): void {
    for (const character of text) this.#follow(character);
  }

  #follow(character: string): void {
    const state = this.#state;
    if (state === 'text') {
      if (character === '<') this.#enter('tag');
      return;
    }
    this.#read += character;
    if (state === 'tag') this.#followTag(character);
    else if (state === 'comment' && this.#read.endsWith('-->')) this.#enter('text');
    else if (state === 'instruction' && this.#read.endsWith('?>')) this.#enter('text');
    else if (state === 'cdata') {
      if (this.#read.endsWith(']]>')) this.#enter('text');
      else this.#script.text(character);
    }
  }

  #followTag(character: string): void {
    if (this.#read === '!--') this.#enter('comment');
    else if (this.#read === '?') this.#enter('instruction');
    else if (this.#read === '![CDATA[') {
      this.#script = new ShellText();
      this.#enter('cdata');
    } else if (this.#quote !== '') {
      if (character === this.#quote) this.#quote = '';
    } else if (character === '"' || character === "'") this.#quote = character;
    else if (character === '>') {
      this.#element = /^[\w:.-]+/.exec(this.#read)?.[0] ?? '';
      this.#enter('text');
    }
  }

  #enter(state: State): void {
    this.#state = state;
    this.#read = '';
  }

  value(value: Value): string {
    if (this.#state === 'cdata')
      return this.#isShell
        ? this.#script.value(value).replaceAll('>', ']]>&gt;<![CDATA[')
        : plainOnly(value, 'in a script that is not for a shell');
    if (this.#state === 'text') {
      if (this.#element !== 'source') return escapeXml(value.value);
      return plainOnly(value, 'in a script outside of a CDATA section');
    }
    if (this.#state === 'tag' && this.#quote !== '') return escapeXml(value.value);
    if (/^\w[\w.]*$/.test(value.value) && this.#state !== 'tag') return value.value;
    throw new Fault(
      'invalid',
      `${having(value)}, which cannot be written in a tag, a comment or an instruction of XML.`,
    );
  }
}
