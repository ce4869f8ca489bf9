import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { inQuotes, insideQuotes } from '../../core/shell-words.ts';
import { shippedImageFiles } from '../../core/home.ts';
import { type InstallFacts, isTree, mainSource, nodeUrl } from './facts.ts';
import {
  type Block,
  given,
  givenSecret,
  type Installer,
  majorOf,
  type Partitions,
  type Piece,
  pieces,
  type Value,
} from './installer.ts';
import { ShellText } from './shell-text.ts';
import { choosingLines } from './wanted-disk.ts';
import { having, noOption, plainOnly, render, type Writer } from './writer.ts';

/** Anaconda: RHEL and its relatives, Fedora. */
export const kickstart: Installer = {
  name: 'kickstart',
  file: 'ks.cfg',
  write: (all) => render(all, new KickstartWriter()),
  blocks: {
    INSTALL_SOURCES: installSources,
    KICKSTARTNET: network,
    ROOTPASSWORD: ({ rootPassword }) =>
      rootPassword === undefined
        ? [['rootpw --lock']]
        : [pieces`rootpw --iscrypted ${givenSecret(rootPassword, "root's password")}`],
    TIME: time,
    WRITEREPO: repositoryFile,
  },
  partitions: ({ definition }) => definition ?? [['%include /tmp/partitionfile']],
  packages: (names) => names.map((name) => [given(name, 'pkglist')]),
  groups: (names) => names.map((name) => [given(name, 'pkglist')]),
  removed: (names) => names.map((name) => ['-', given(name, 'pkglist')]),
  end: (partitions, facts) => [...partitionScript(partitions, facts), ...failureReport(facts)],
};

const url = ({ url: text }: { url: string }): Value => given(text, 'pkgdir');

function installSources(facts: InstallFacts): Block {
  const others = facts.sources.slice(1);
  return [
    pieces`url --url=${url(mainSource(facts))}`,
    ...others.map((source, index) => [`repo --name=muster-${index + 1} --baseurl=`, url(source)]),
  ];
}

function network({ hostname, domain, nic, mac, address, nameServers }: InstallFacts): Block {
  const device = nic ?? mac;
  const named = domain ? pieces`${hostname}.${domain}` : [hostname];
  const servers: Piece[] = nameServers.flatMap((server, index) => [index === 0 ? ' --nameserver=' : ',', server]);
  const common = pieces`${device ? pieces` --device=${device}` : [' --device=link']} --hostname=${named} --activate --onboot=yes`;
  if (!address) return [pieces`network --bootproto=dhcp${common}`];
  const gateway = address.gateway
    ? pieces` --${[address.family === 4 ? 'gateway' : 'ipv6gateway']}=${address.gateway}`
    : [];
  const own =
    address.family === 4
      ? pieces` --ip=${address.address} --netmask=${address.mask}`
      : pieces` --noipv4 --ipv6=${address.address}/${address.mask}`;
  return [pieces`network --bootproto=static${own}${gateway}${servers}${common}`];
}

/** Time servers have a command of their own since RHEL 9 and Fedora 34. */
function time({ timezone, timeServers, image }: InstallFacts): Block {
  const zone = pieces`timezone ${timezone} --utc`;
  if (timeServers.length === 0) return [zone];
  const isNew = image.os.startsWith('fedora') ? majorOf(image.os) >= 34 : majorOf(image.os) >= 9;
  if (isNew) return [zone, ...timeServers.map((server) => pieces`timesource --ntp-server=${server}`)];
  return [
    [...zone, ' --ntpservers=', ...timeServers.flatMap((server, index) => (index === 0 ? [server] : [',', server]))],
  ];
}

/** In a script of the installed system: where packages come from later on. */
function repositoryFile({ sources, image }: InstallFacts): Block {
  const wholeTrees = majorOf(image.os) >= 8 && !image.os.startsWith('fedora') ? ['BaseOS', 'AppStream'] : [''];
  const places = sources.flatMap((source) =>
    isTree(source)
      ? wholeTrees.map((part) => ({ base: part === '' ? source.url : `${source.url}/${part}`, isSigned: false }))
      : [{ base: source.url, isSigned: true }],
  );
  const text = places.flatMap(({ base, isSigned }, index) => [
    `[muster-${index}]`,
    `name=muster-${index}`,
    `baseurl=${base}`,
    'enabled=1',
    `gpgcheck=${isSigned ? 1 : 0}`,
  ]);
  const words = text.flatMap((line): Piece[] => [' ', given(line, 'pkgdir')]);
  return [["printf '%s\\n'", ...words, ' > /etc/yum.repos.d/muster.repo']];
}

const usualPartitions = join(shippedImageFiles, 'redhat/install/partition.sh');

/** Definitions that a script on the node writes before they are read. */
function partitionScript(
  { definition, script, disk, diskScript }: Partitions,
  { image, disk: wanted }: InstallFacts,
): Block {
  if (disk !== undefined || diskScript !== undefined)
    throw new Fault(
      'invalid',
      `${image.name}: partitionfile: a kickstart names disks in its definitions, not in a file d: of their own.`,
    );
  if (definition) return [];
  const own = [...choosingLines(), ...readFileSync(usualPartitions, 'utf8').trimEnd().split('\n')];
  const lines = script?.trimEnd().split('\n') ?? own;
  if (lines.some((line) => /^\s*%/.test(line)))
    throw new Fault(
      'invalid',
      `${image.name}: partitionfile: a line of the script begins with %, which would end it in a kickstart.`,
    );
  // A script of the image's own may use it too.
  const named: Block = [wanted.value === '' ? ['wanted='] : pieces`wanted=${wanted}`];
  return [['%pre'], ...named, ...lines.map((line) => [line]), ['%end']];
}

/** Older ones do not know the section. */
function failureReport(facts: InstallFacts): Block {
  if (!facts.image.os.startsWith('fedora') && majorOf(facts.image.os) < 8) return [];
  const report = "curl -s -m 60 --retry 5 -H 'Content-Type: text/plain' --data-binary 'failed the installer stopped' ";
  return [['%onerror'], [report, nodeUrl(facts, 'report')], ['%end']];
}

type Section = 'commands' | 'packages' | 'other' | ShellText;

// What the installer's way to split words would not leave as it is.
const special = /[\s'"\\#]/;
const packageLine = /^[A-Za-z0-9@^*+._:~=/&() -]*$/;

/** Kickstart: words of commands, names of packages, and scripts. */
export class KickstartWriter implements Writer {
  #section: Section = 'commands';
  #line = '';
  #quote = '';

  text(text: string): void {
    const [first = '', ...rest] = text.split('\n');
    this.#add(first);
    for (const line of rest) {
      this.#end();
      this.#add(line);
    }
  }

  #add(text: string): void {
    this.#line += text;
    if (this.#section instanceof ShellText) this.#section.text(text);
    else this.#follow(text);
  }

  /** Which quotes are open on a line of commands. */
  #follow(text: string): void {
    for (let at = 0; at < text.length; at++) {
      const character = text[at]!;
      if (character === '\\' && this.#quote !== "'") at++;
      else if (this.#quote === '' && (character === '"' || character === "'" || character === '#'))
        this.#quote = character;
      else if (character === this.#quote && character !== '#') this.#quote = '';
    }
  }

  #end(): void {
    const begin = /^\s*%(\w+(?:-\w+)?)(.*)$/.exec(this.#line);
    this.#line = '';
    this.#quote = '';
    if (begin) this.#section = sectionOf(begin[1]!, begin[2]!, this.#section);
    else if (this.#section instanceof ShellText) this.#section.text('\n');
  }

  value(value: Value): string {
    if (this.#line.trim() === '' && value.value.startsWith('%'))
      throw new Fault('invalid', `${having(value)}, which would begin a section.`);
    const written = this.#written(value);
    this.#line += written;
    return written;
  }

  #written(value: Value): string {
    if (this.#section instanceof ShellText) return this.#section.value(value);
    if (this.#section === 'other') return plainOnly(value, 'in this section');
    if (this.#section === 'packages') return packageName(value);
    if (this.#quote === '#') return value.value;
    if (/\s["']?$/.test(this.#line)) noOption(value);
    // A backslash before it would take its first character away.
    if (this.#line.endsWith('\\')) return plainOnly(value, 'behind a backslash');
    if (this.#quote === '"') return value.value.replaceAll(/["\\]/g, String.raw`\$&`);
    if (this.#quote === "'") return insideQuotes(value.value);
    return value.value !== '' && !special.test(value.value) ? value.value : inQuotes(value.value);
  }
}

function packageName(value: Value): string {
  if (packageLine.test(value.value)) return value.value;
  throw new Fault('invalid', `${having(value)}, which is not the name of a package.`);
}

function sectionOf(name: string, options: string, before: Section): Section {
  if (name === 'include' || name === 'ksappend') return before;
  if (name === 'end') return 'commands';
  if (name === 'packages') return 'packages';
  if (name === 'addon' || name === 'anaconda') return 'other';
  const interpreter = /--interpreter[= ]+(\S+)/.exec(options)?.[1];
  return interpreter === undefined || /\/(ba)?sh$/.test(interpreter) ? new ShellText() : 'other';
}
