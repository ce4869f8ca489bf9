import { dirname, isAbsolute, join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { secretColumns } from '../../database/secret-columns.ts';
import { isEnabled, type Row, type Table, tables } from '../../database/tables.ts';
import { type EffectiveReader, siteValue } from '../../objects/effective.ts';
import { readPackageLists } from '../../nodes/index.ts';
import { type InstallFacts, mainSource, nodeUrl, wantedOf } from './facts.ts';
import { type Block, given, type Installer, type Partitions, type Piece } from './installer.ts';

/** `#NAME#` or `#NAME:argument#` in a template. */
interface Placeholder {
  readonly name: string;
  readonly argument: string | undefined;
  /** As it stands there, and where. */
  readonly text: string;
  readonly where: string;
}

const placeholders = /#([A-Z][A-Z0-9_]*)(?::([^#\n]*))?#/g;
const variable = /#ENV:([^#\n]*)#/g;

/** The text as what stands there and what is to be put there. */
function parseTemplate(
  text: string,
  path: string,
  environment: Readonly<Record<string, string>>,
): (string | Placeholder)[] {
  // They come first: they stand in the arguments of others.
  const plain = text.replaceAll(variable, (_, name: string) => environmentValue(name.trim(), path, environment));
  const parts: (string | Placeholder)[] = [];
  let at = 0;
  let line = 1;
  for (const found of plain.matchAll(placeholders)) {
    const before = plain.slice(at, found.index);
    line += before.split('\n').length - 1;
    if (before !== '') parts.push(before);
    parts.push({ name: found[1]!, argument: found[2]?.trim(), text: found[0], where: `${path}, line ${line}` });
    at = found.index + found[0].length;
  }
  if (at < plain.length) parts.push(plain.slice(at));
  return parts;
}

/** Only what is the same for everybody; the environment of this process is nobody's business. */
function environmentValue(name: string, path: string, environment: Readonly<Record<string, string>>): string {
  const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
  if (value !== undefined) return value;
  throw new Fault('invalid', `${path}: #ENV:${name}# is not known; there are ${Object.keys(environment).join(', ')}.`);
}

const regions = [
  /#XCAT_PARTITION_START#(.*?)#XCAT_PARTITION_END#/gs,
  /<!--\s*XCAT-PARTITION-START\s*-->(.*?)<!--\s*XCAT-PARTITION-END\s*-->/gs,
];

/** The part of a template that gives way to the image's partition file; without one it stays. */
const withPartitions = (template: string, hasFile: boolean): string =>
  regions.reduce(
    (text, region) => text.replaceAll(region, (_, own: string) => (hasFile ? '#PARTITIONS#' : own)),
    template,
  );

/** Reads a file that an image names; `what` begins a sentence about it. */
export type ReadFile = (path: string, what: string) => Promise<string>;

export interface Expanding {
  readonly reader: EffectiveReader;
  readonly facts: InstallFacts;
  readonly installer: Installer;
  readonly read: ReadFile;
  readonly installdir: string;
  readonly partitions: Partitions;
}

/** Files within files, how deep and how many, and their characters together. */
const bounds = { depth: 8, files: 100, characters: 4 * 1024 * 1024 };

type Resolver = (placeholder: Placeholder, path: string) => Piece[] | Block | Promise<Piece[] | Block>;

/** A template with all that its placeholders stand for. */
export class Expansion {
  readonly #basis: Expanding;
  readonly #environment: Readonly<Record<string, string>>;
  #files = 0;
  #characters = 0;

  constructor(basis: Expanding) {
    this.#basis = basis;
    this.#environment = { INSTALLDIR: basis.installdir, XCATROOT: '/opt/xcat' };
  }

  /** The file at the path, and what it includes. */
  async file(path: string, above: readonly string[] = []): Promise<Piece[]> {
    if (above.includes(path)) throw new Fault('invalid', `${above.at(-1)} includes ${path}, which includes it again.`);
    const { image } = this.#basis.facts;
    const text = await this.#basis.read(path, `${image.name}: template`);
    this.#files++;
    this.#characters += text.length;
    if (above.length >= bounds.depth || this.#files > bounds.files || this.#characters > bounds.characters)
      throw new Fault(
        'invalid',
        `${path}: a template is made of at most ${bounds.files} files, ${bounds.depth} deep, with ${bounds.characters} characters together.`,
      );
    return this.text(text, path, above);
  }

  async text(text: string, path: string, above: readonly string[] = []): Promise<Piece[]> {
    const whole = withPartitions(text, this.#basis.facts.image.attribute('partitionfile') !== '');
    const found: Piece[] = [];
    for (const part of parseTemplate(whole, path, this.#environment)) {
      if (typeof part === 'string') found.push(part);
      else if (part.name === 'INCLUDE') found.push(...(await this.file(included(part, path), [...above, path])));
      else found.push(...indented(await this.#resolve(part, path), found));
    }
    return found;
  }

  #resolve(placeholder: Placeholder, path: string): Piece[] | Block | Promise<Piece[] | Block> {
    const { name, text, where } = placeholder;
    const { installer, facts } = this.#basis;
    if (Object.hasOwn(this.#resolvers, name)) return this.#resolvers[name]!(placeholder, path);
    const plain = name.replace(/_S$/, '');
    const block = Object.hasOwn(installer.blocks, name) ? installer.blocks[name] : undefined;
    if (block) return block(facts);
    if (/^INCLUDE(_DEFAULT)?_(PKG|PTRN|PERN|RMPKG)LIST$/.test(plain)) return this.#packages(placeholder, plain, path);
    const known = [...Object.keys(this.#resolvers), ...Object.keys(installer.blocks)].toSorted();
    throw new Fault(
      'invalid',
      `${where}: ${text} is not known for ${installer.name}. If it is a comment, put a space after the first #. There are INCLUDE, INCLUDE_PKGLIST, INCLUDE_DEFAULT_PKGLIST, ${known.join(', ')}.`,
    );
  }

  readonly #resolvers: Readonly<Record<string, Resolver>> = {
    TABLE: (placeholder) => this.#table(placeholder, false),
    TABLEBLANKOKAY: (placeholder) => this.#table(placeholder, true),
    CRYPT: (placeholder) => this.#crypt(placeholder),
    XCATVAR: (placeholder) => this.#variable(placeholder),
    COMMAND: ({ where, text }) => {
      throw new Fault(
        'invalid',
        `${where}: ${text} would run a command on the management node, which templates cannot do. Put the value into a table and use #TABLE:...#, or let a script on the node find it.`,
      );
    },
    HOSTNAME: () => [this.#basis.facts.hostname],
    NODE: () => [this.#basis.facts.hostname],
    DOMAIN: () => (this.#basis.facts.domain ? [this.#basis.facts.domain] : []),
    TIMEZONE: () => [this.#basis.facts.timezone],
    LOCALE: () => [this.#basis.facts.locale],
    KEYBOARD: () => [this.#basis.facts.keyboard],
    SOURCE: () => [given(mainSource(this.#basis.facts).url, `${this.#basis.facts.image.name}: pkgdir`)],
    REPORT_URL: () => [nodeUrl(this.#basis.facts, 'report')],
    ANSWERS_URL: () => [nodeUrl(this.#basis.facts, 'answer')],
    PARTITIONS: () => this.#basis.installer.partitions(this.#basis.partitions, this.#basis.facts),
    // The script of a partition file is part of what PARTITIONS stands for.
    XCA_PARTITION_SCRIPT: () => this.#basis.installer.partitions(this.#basis.partitions, this.#basis.facts),
  };

  #table(placeholder: Placeholder, mayBeBlank: boolean): Piece[] {
    const { text, where } = placeholder;
    const value = tableValue(this.#basis.reader, this.#basis.facts.node, placeholder);
    if (value !== undefined) return [given(value, `${where}: ${text}`)];
    if (mayBeBlank) return [];
    throw new Fault(
      'invalid',
      `${where}: ${text} has no value. Set it, or write #TABLEBLANKOKAY:...# where there need not be one.`,
    );
  }

  #crypt({ argument = '', text, where }: Placeholder): Piece[] {
    if (!/^passwd:key=system(,username=root)?:password$/.test(argument.replaceAll(' ', '')))
      throw new Fault(
        'invalid',
        `${where}: ${text}: only the hash of root's password can be used: #CRYPT:passwd:key=system,username=root:password#.`,
      );
    const { rootPassword } = this.#basis.facts;
    if (rootPassword !== undefined) return [given(rootPassword, `${where}: ${text}`)];
    throw new Fault(
      'invalid',
      `${where}: ${text}: root has no password on nodes; set it in table passwd, key=system,username=root.`,
    );
  }

  #variable({ argument = '', text, where }: Placeholder): Piece[] {
    const { facts, reader, installdir } = this.#basis;
    const [host, port] = splitServer(facts.server);
    const { name, os, arch, profile } = facts.image;
    const known: Readonly<Record<string, string>> = {
      XCATMASTER: host,
      MASTER: host,
      HTTPPORT: port,
      NODE: facts.node,
      INSTALLDIR: installdir,
      TFTPDIR: siteValue(reader.snapshot, 'tftpdir') || '/tftpboot',
      DOMAIN: facts.domain?.value ?? '',
      IMAGENAME: name,
      OS: os,
      OSVER: os,
      ARCH: arch,
      PROFILE: profile,
    };
    const value = Object.hasOwn(known, argument) ? known[argument] : undefined;
    if (value !== undefined) return [given(value, `${where}: ${text}`)];
    throw new Fault('invalid', `${where}: ${text} is not known; there are ${Object.keys(known).join(', ')}.`);
  }

  /** The image's own lists, or one that is named. */
  async #packages({ argument, text, where }: Placeholder, name: string, path: string): Promise<Block> {
    const { facts, installer, read } = this.#basis;
    const isDefault = name.startsWith('INCLUDE_DEFAULT_');
    if (isDefault === (argument !== undefined && argument !== ''))
      throw new Fault('invalid', `${where}: ${text}: only INCLUDE_PKGLIST and its like take the path of a list.`);
    const wanted = isDefault
      ? facts.packages
      : wantedOf(await readPackageLists([beside(path, argument!)], (each) => read(each, `${where}: ${text}`)));
    if (name.endsWith('_RMPKGLIST')) return installer.removed(wanted.remove);
    if (name.endsWith('_PKGLIST')) return installer.packages([...wanted.groups, ...wanted.install]);
    return installer.groups(wanted.groups);
  }
}

function included({ argument = '', text, where }: Placeholder, path: string): string {
  if (argument === '') throw new Fault('invalid', `${where}: ${text} names no file.`);
  return beside(path, argument);
}

const beside = (path: string, named: string): string => (isAbsolute(named) ? named : join(dirname(path), named));

/** Lines of a block stand below each other, as far in as the placeholder was. */
function indented(found: Piece[] | Block, before: readonly Piece[]): Piece[] {
  const [first, ...rest] = found;
  if (!Array.isArray(first)) return found as Piece[];
  const last = before.at(-1) ?? '\n';
  const indent = typeof last === 'string' ? (/(?:^|\n)([ \t]*)$/.exec(last)?.[1] ?? '') : '';
  return [...(first as Piece[]), ...rest.flatMap((line) => [`\n${indent}`, ...(line as Piece[])])];
}

/** Address or name, and port. */
function splitServer(server: string): [host: string, port: string] {
  const [, host = server, port = '80'] = /^(.*?)(?::(\d+))?$/.exec(server)!;
  return [host, port];
}

/** What `#TABLE:table:key:column#` stands for; undefined: there is no value. */
function tableValue(reader: EffectiveReader, node: string, placeholder: Placeholder): string | undefined {
  const { table, column, key } = readReference(placeholder);
  const row = rowOf(reader, node, table, key, placeholder);
  if (row && secretColumns(table, row).has(column)) throw secretValue(placeholder);
  return row?.[column] || undefined;
}

const secretValue = ({ text, where }: Placeholder): Fault =>
  new Fault(
    'invalid',
    `${where}: ${text} is a secret, and answer files hold no secrets; for the hash of root's password write #CRYPT:passwd:key=system,username=root:password#.`,
  );

function readReference(placeholder: Placeholder): { table: Table; key: string; column: string } {
  const { argument = '', text, where } = placeholder;
  const parts = argument.split(':');
  const [tableName = '', column = ''] = [parts[0], parts.at(-1)];
  const key = parts.slice(1, -1).join(':').trim();
  if (parts.length < 3 || key === '')
    throw new Fault(
      'invalid',
      `${where}: ${text} must be #TABLE:table:key:column#, as #TABLE:noderes:$NODE:nfsserver#.`,
    );
  const table = tables.get(tableName);
  if (!table || table.log) throw new Fault('invalid', `${where}: ${text} names a table that cannot be read here.`);
  if (!table.columns.includes(column))
    throw new Fault('invalid', `${where}: ${text}: the table ${tableName} has no column ${JSON.stringify(column)}.`);
  if (table.secret.has(column)) throw secretValue(placeholder);
  return { table, key, column };
}

const thisNode = new Set(['$NODE', 'THISNODE', 'NODE', 'node=$NODE', 'node=THISNODE']);

function rowOf(
  reader: EffectiveReader,
  node: string,
  table: Table,
  key: string,
  { text, where }: Placeholder,
): Row | undefined {
  if (thisNode.has(key)) {
    if (table.nodeColumn !== undefined) return reader.row(table, node);
    throw new Fault('invalid', `${where}: ${text}: the rows of table ${table.name} do not belong to nodes.`);
  }
  const wanted = conditions(key, table, node);
  const unknown = Object.keys(wanted).find((column) => !table.columns.includes(column) || table.secret.has(column));
  if (unknown !== undefined)
    throw new Fault(
      'invalid',
      `${where}: ${text}: rows of table ${table.name} are not found by ${JSON.stringify(unknown)}.`,
    );
  return [...reader.snapshot.rows(table.name).values()].find(
    (row) => isEnabled(row) && Object.entries(wanted).every(([column, value]) => row[column] === value),
  );
}

/** `key=system,username=root`, or the mere key of a table that has one. */
function conditions(key: string, table: Table, node: string): Record<string, string> {
  if (!key.includes('=')) return { [table.keys[0]!]: key };
  return Object.fromEntries(
    key.split(',').map((part) => {
      const [column = '', ...value] = part.split('=');
      return [column.trim(), value.join('=').trim().replaceAll('$NODE', node)];
    }),
  );
}
