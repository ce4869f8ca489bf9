import { randomBytes } from 'node:crypto';
import type { Document, Node, Pair, Scalar } from 'yaml';
import { Fault } from '../../core/errors.ts';
import { type InstallFacts, isTree, mainSource, nodeUrl } from './facts.ts';
import {
  type Block,
  given,
  givenSecret,
  type Installer,
  type Piece,
  pieces,
  unusable,
  type Value,
} from './installer.ts';
import { checkChosen, chosenDisk, diskScript } from './wanted-disk.ts';
import { checkText, having, plainOnly } from './writer.ts';

const listed = (names: readonly string[]): Block =>
  names.length === 0 ? [['[]']] : names.map((name) => pieces`- ${given(name, 'pkglist')}`);

/** Subiquity: Ubuntu from 20.04 on. */
export const autoinstall: Installer = {
  name: 'autoinstall',
  file: 'user-data',
  write: async (all) => checkChosen(await renderYaml(all), 'below early-commands'),
  blocks: {
    APT: mirror,
    NETWORK: network,
    ROOT: ({ rootPassword, publicKey }) => [
      ['- name: root'],
      [`  lock_passwd: ${rootPassword === undefined}`],
      ...(rootPassword === undefined ? [] : [pieces`  hashed_passwd: ${givenSecret(rootPassword, "root's password")}`]),
      ['  ssh_authorized_keys:'],
      pieces`    - ${given(publicKey, "muster's public key")}`,
    ],
    NTP: ({ timeServers }) =>
      timeServers.length === 0
        ? [['ntp: {enabled: false}']]
        : [['ntp:'], ['  enabled: true'], ['  servers:'], ...timeServers.map((server) => pieces`    - ${server}`)],
    CHOOSE_DISK: (facts) => [
      pieces`- wget -q -T 60 -O /tmp/disk.sh ${nodeUrl(facts, 'answer', 'disk.sh')} && sh /tmp/disk.sh`,
    ],
  },
  partitions: ({ definition, script, disk, diskScript: ownScript, answers }) => {
    if (script ?? disk ?? ownScript ?? answers)
      throw unusable(
        'the installer of Ubuntu takes the text below "storage:", no scripts, disks or answers',
        'name such a file',
      );
    // Where none is named, the installer would take the largest; and its serial numbers have the name of the model before them.
    const match: Block = [['  match:'], [`    path: ${chosenDisk}`]];
    return definition ?? [['layout:'], ['  name: lvm'], ['  sizing-policy: all'], ...match];
  },
  packages: (names) => listed(names.map((name) => name.replace(/^@/, ''))),
  groups: () => [],
  removed: listed,
  async others(_partitions, { node, hostname, domain, disk }) {
    const name = domain ? `${hostname.value}.${domain.value}` : hostname.value;
    const { stringify } = await import('yaml');
    const text = stringify({ 'instance-id': `muster-${node}`, 'local-hostname': name }, { version: '1.1' });
    return [
      { name: 'meta-data', text },
      { name: 'vendor-data', text: '' },
      // The installer reads its answers again after the commands that run early.
      { name: 'disk.sh', text: diskScript(disk, `sed -i "s|${chosenDisk}|/dev/$disk|g" /autoinstall.yaml`) },
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

/** What shells read. */
const commands = /(^|-)commands$|^(runcmd|bootcmd|content)$/;
const number = /^(0|[1-9]\d*)$/;
/** What can be a part of a text without quotes: it neither ends it nor becomes a key or a comment. */
const partOfPlain = /^[A-Za-z0-9](?:[A-Za-z0-9_@%+=./:-]*[A-Za-z0-9_@%+=./-])?$/;
/** cloud-init reads YAML 1.1, in which "yes" is no text, and takes the last of keys that are there twice. */
const format = { version: '1.1', uniqueKeys: false, strict: false, lineWidth: 0 } as const;

/**
 * The pieces as a file for cloud-init. The package `yaml` parses it with a mark in place of each value; scalars that have marks are
 * written again with their values, and all else stays as the template has it.
 */
export async function renderYaml(all: readonly Piece[]): Promise<string> {
  const { parseDocument, stringify, visit } = await import('yaml');
  const marks = new Marks();
  const marked = all.map((piece) => (typeof piece === 'string' ? piece : marks.for(piece))).join('');
  const inQuotes = (text: string, defaultStringType: Scalar.Type): string =>
    stringify(text, { ...format, defaultStringType }).trimEnd();

  const written = (scalar: Scalar, source: string, path: Path): string => {
    if (source.includes('\n')) return marks.fill(source, (value) => plainOnly(value, 'in a text of several lines'));
    if (isCommand(path)) return marks.fill(source, (value) => plainOnly(value, 'in a command'));
    if (scalar.type !== 'PLAIN') return inQuotes(marks.fill(String(scalar.value), textOf), scalar.type as Scalar.Type);
    if (marks.fill(source, () => '') !== '') return marks.fill(source, asPart);
    const text = marks.fill(source, textOf);
    return number.test(text) ? text : inQuotes(text, 'QUOTE_DOUBLE');
  };

  const document = parseDocument(marked, format);
  refuseErrors(document);
  let text = '';
  let end = 0;
  visit(document, {
    Scalar(_key, scalar, path) {
      if (!scalar.range) return;
      const [from, to] = scalar.range;
      const source = marked.slice(from, to);
      if (!marks.areIn(source)) return;
      text += marked.slice(end, from) + written(scalar, source, path);
      end = to;
    },
  });
  return marks.fill(text + marked.slice(end), (value) => plainOnly(value, 'in a comment or a name'));
}

/** Words that stand for values while a template is parsed. Nobody can know them before. */
class Marks {
  readonly #values = new Map<string, Value>();

  for(value: Value): string {
    checkText(value);
    const mark = `muster${randomBytes(16).toString('hex')}`;
    this.#values.set(mark, value);
    return mark;
  }

  areIn(text: string): boolean {
    return this.fill(text, () => '') !== text;
  }

  fill(text: string, write: (value: Value) => string): string {
    return text.replaceAll(/muster[0-9a-f]{32}/g, (mark) => {
      const value = this.#values.get(mark);
      return value ? write(value) : mark;
    });
  }
}

type Path = readonly (Document | Node | Pair)[];

const isCommand = (path: Path): boolean =>
  path.some((above) => {
    const name = 'key' in above ? (above.key as Scalar | null)?.value : undefined;
    return typeof name === 'string' && commands.test(name);
  });

const textOf = ({ value }: Value): string => value;

function asPart(value: Value): string {
  if (partOfPlain.test(value.value)) return value.value;
  throw new Fault(
    'invalid',
    `${having(value)}, which cannot be written here without quotes: put the text in the template between double quotes.`,
  );
}

function refuseErrors({ errors: [error] }: Document): void {
  if (!error) return;
  const [problem = ''] = error.message.split(/:?\n/, 1);
  throw new Fault('invalid', `The template does not make YAML: ${problem}. Line numbers count included files too.`);
}
