import { Fault } from '../../core/errors.ts';
import { suiteOf } from '../../objects/distributions.ts';
import { type InstallFacts, isTree, mainSource, nodeUrl } from './facts.ts';
import {
  type AnswerFile,
  type Block,
  given,
  givenSecret,
  type Installer,
  type Partitions,
  type Piece,
  pieces,
  type Value,
} from './installer.ts';
import { ShellText } from './shell-text.ts';
import { diskScript } from './wanted-disk.ts';
import { having, plainOnly, render, type Writer } from './writer.ts';

/** The Debian installer: Debian, and Ubuntu before 20.04. */
export const preseed: Installer = {
  name: 'preseed',
  file: 'preseed.cfg',
  write: (all) => render(all, new PreseedWriter()),
  blocks: {
    MIRRORSPEC: mirror,
    UNSIGNEDTREE: (facts) => [isTree(mainSource(facts)) ? [acceptUnsigned] : []],
    NETWORK: network,
    // The installer would ask for a password if it read "!".
    ROOTPASSWORD: ({ rootPassword }) => [
      pieces`d-i passwd/root-password-crypted password ${givenSecret(rootPassword ?? '*', "root's password")}`,
    ],
    TIME: ({ timezone, timeServers }) => [
      pieces`d-i time/zone string ${timezone}`,
      [`d-i clock-setup/ntp boolean ${timeServers.length > 0}`],
      ...timeServers.slice(0, 1).map((server) => pieces`d-i clock-setup/ntp-server string ${server}`),
    ],
  },
  partitions: partitionLines,
  packages: (names) => [
    names.flatMap((name, index): Piece[] => [index === 0 ? '' : ' ', given(name.replace(/^@/, ''), 'pkglist')]),
  ],
  groups: () => [],
  removed: (names) => [names.flatMap((name, index): Piece[] => [index === 0 ? '' : ' ', given(name, 'pkglist')])],
  others: scripts,
};

/**
 * Of allow_unauthenticated the installer makes a setting that apt has not obeyed for long: without another one, the new system finds no
 * kernel in a tree of media. This is a hook that the installer runs before it asks apt; the template removes the setting at its end.
 */
const hook = '/usr/lib/base-installer.d/10muster';
const unsigned = `Acquire::AllowInsecureRepositories "true";`;
const acceptUnsigned =
  `mkdir -p /usr/lib/base-installer.d; echo "echo '${unsigned.replaceAll('"', String.raw`\"`)}' >/target/etc/apt/apt.conf.d/00muster" >${hook}; ` +
  `chmod 755 ${hook}; `;

const withoutAnswer = ['d-i apt-setup/services-select multiselect'];

function mirror(facts: InstallFacts): Block {
  const source = mainSource(facts);
  const { protocol, host, pathname } = new URL(source.url);
  if (protocol !== 'http:')
    throw new Fault(
      'invalid',
      `${facts.image.name}: pkgdir ${source.url}: the Debian installer takes mirrors by http only.`,
    );
  const suite = source.suite ?? suiteOf(facts.image.os);
  return [
    ['d-i mirror/country string manual'],
    ['d-i mirror/protocol string http'],
    pieces`d-i mirror/http/hostname string ${given(host, 'pkgdir')}`,
    pieces`d-i mirror/http/directory string ${given(pathname, 'pkgdir')}`,
    ['d-i mirror/http/proxy string'],
    ...(suite === undefined ? [] : [pieces`d-i mirror/suite string ${given(suite, 'pkgdir')}`]),
    // Trees of media are not signed, and have no updates beside them.
    ...(isTree(source) ? [['d-i debian-installer/allow_unauthenticated boolean true'], withoutAnswer] : []),
    ...facts.sources.slice(1).map((other, index) => localRepository(facts, other, index)),
  ];
}

function localRepository({ image }: InstallFacts, source: InstallFacts['sources'][number], index: number): Piece[] {
  const suite = source.suite ?? (isTree(source) ? './' : suiteOf(image.os));
  const trust = isTree(source) ? '[trusted=yes] ' : '';
  const components = suite?.endsWith('/') ? '' : ` ${source.components.join(' ') || 'main'}`;
  return [
    `d-i apt-setup/local${index}/repository string ${trust}`,
    given(source.url, 'pkgdir'),
    ' ',
    given(`${suite ?? ''}${components}`, 'pkgdir'),
  ];
}

function network({ hostname, domain, nic, address, nameServers }: InstallFacts): Block {
  const named: Block = [
    pieces`d-i netcfg/choose_interface select ${nic ?? given('auto', 'muster')}`,
    pieces`d-i netcfg/get_hostname string ${hostname}`,
    pieces`d-i netcfg/hostname string ${hostname}`,
    domain ? pieces`d-i netcfg/get_domain string ${domain}` : ['d-i netcfg/get_domain string'],
  ];
  if (!address) return named;
  return [
    ...named,
    ['d-i netcfg/disable_autoconfig boolean true'],
    pieces`d-i netcfg/get_ipaddress string ${address.address}`,
    pieces`d-i netcfg/get_netmask string ${address.mask}`,
    pieces`d-i netcfg/get_gateway string ${address.gateway ?? given('none', 'muster')}`,
    ['d-i netcfg/get_nameservers string', ...nameServers.flatMap((server): Piece[] => [' ', server])],
    ['d-i netcfg/confirm_static boolean true'],
  ];
}

/** What the node names comes before what its image does. The machine finds the disk itself. */
function withDisk(partitions: Partitions, { disk: wanted }: InstallFacts): Partitions {
  const { disk, diskScript: ownScript, ...rest } = partitions;
  if (wanted.value === '' && (disk ?? ownScript) !== undefined) return partitions;
  return { ...rest, diskScript: diskScript(wanted, 'echo "/dev/$disk" >/tmp/install_disk') };
}

function partitionLines(partitions: Partitions, facts: InstallFacts): Block {
  const { definition, answers = [], disk, script, diskScript: finding } = withDisk(partitions, facts);
  const recipe: Block = definition
    ? [
        ['d-i partman-auto/expert_recipe string \\'],
        ...definition.map((line, index) => continued(line, index < definition.length - 1)),
      ]
    : [['d-i partman-auto/choose_recipe select atomic']];
  return [
    ...(disk === undefined ? [] : [pieces`d-i partman-auto/disk string ${given(disk, 'partitionfile')}`]),
    ...(disk === undefined ? [] : [pieces`d-i grub-installer/bootdev string ${given(disk, 'partitionfile')}`]),
    ...(script === undefined ? recipe : []),
    ...answers,
    ...earlyCommand({ script, finding }, facts),
  ];
}

/** The lines of a recipe are one answer. */
function continued(line: readonly Piece[], goesOn: boolean): Piece[] {
  const [last = '', ...before] = line.toReversed();
  const plain = typeof last === 'string' ? last.replace(/[\s\\]+$/, '') : last;
  return ['  ', ...before.toReversed(), plain, ...(goesOn ? [' \\'] : [])];
}

/** What the node finds out itself, right before its disks are partitioned. If it cannot, it stops: the installer would choose. */
function earlyCommand(
  { script, finding }: { script: string | undefined; finding: string | undefined },
  facts: InstallFacts,
): Block {
  const fetched = (name: string): Piece[] =>
    pieces`wget -q -O /tmp/${[name]} ${nodeUrl(facts, 'answer', name)} && sh /tmp/${[name]} 2>/tmp/muster.log`;
  const steps: Piece[][] = [];
  if (script !== undefined)
    steps.push([...fetched('partition.sh'), ' && debconf-set partman-auto/expert_recipe "$(cat /tmp/partitionfile)"']);
  if (finding !== undefined)
    steps.push([
      ...fetched('disk.sh'),
      ...['partman-auto/disk', 'grub-installer/bootdev'].map(
        (question) => ` && debconf-set ${question} "$(cat /tmp/install_disk)"`,
      ),
    ]);
  if (steps.length === 0) return [];
  const failing = pieces` || { wget -q -T 60 -O /dev/null --header=Content-Type:text/plain --post-data="failed $(tail -n 1 /tmp/muster.log)" ${nodeUrl(facts, 'report')}; while :; do sleep 60; done; }`;
  return [
    [
      'd-i partman/early_command string ',
      ...steps.flatMap((step, index) => (index === 0 ? step : [' && ', ...step])),
      ...failing,
    ],
  ];
}

function scripts(partitions: Partitions, facts: InstallFacts): AnswerFile[] {
  const { script, diskScript: finding } = withDisk(partitions, facts);
  return [
    ...(script === undefined ? [] : [{ name: 'partition.sh', text: script }]),
    ...(finding === undefined ? [] : [{ name: 'disk.sh', text: finding }]),
  ];
}

const questionName = /^[A-Za-z0-9_.+/-]+$/;
const answerLine = /^\s*\S+\s+(\S+)\s+\S+\s/;

/** Preseed: each line is the owner, name and type of a question, and behind these its answer up to the end of the line. */
export class PreseedWriter implements Writer {
  #line = '';
  /** The answer, where it is a command. */
  #command: ShellText | undefined;

  text(text: string): void {
    const [first = '', ...rest] = text.split('\n');
    this.#add(first);
    for (const line of rest) {
      // A backslash makes the next line part of this one.
      if (!this.#line.endsWith('\\') || this.#line.startsWith('#')) {
        this.#line = '';
        this.#command = undefined;
      }
      this.#add(line);
    }
  }

  #add(text: string): void {
    this.#line += text;
    if (this.#command) {
      this.#command.text(text);
      return;
    }
    const [before = '', question = ''] = answerLine.exec(this.#line) ?? [];
    if (!question.endsWith('_command')) return;
    this.#command = new ShellText();
    this.#command.text(this.#line.slice(before.length));
  }

  value(value: Value, endsLine: boolean): string {
    const written = this.#written(value, endsLine);
    this.#line += written;
    return written;
  }

  #written(value: Value, endsLine: boolean): string {
    if (this.#line.startsWith('#')) return plainOnly(value, 'in a comment');
    if (!answerLine.test(this.#line)) {
      if (questionName.test(value.value)) return value.value;
      throw new Fault('invalid', `${having(value)}, which is not the name of a question.`);
    }
    if (this.#command) return this.#command.value(value);
    if (endsLine && value.value.endsWith('\\'))
      throw new Fault('invalid', `${having(value)}: with a backslash at its end the next line would be part of it.`);
    return value.value;
  }
}
