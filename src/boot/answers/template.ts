import { dirname, isAbsolute, join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { type EffectiveReader, siteValue } from '../../objects/effective.ts';
import { readPackageLists } from '../../nodes/index.ts';
import { type InstallFacts, mainSource, nodeUrl, wantedOf } from './facts.ts';
import { hidden } from '../../objects/secret-names.ts';
import { isOfOthers, isSeen, parseTemplate, placed, type Placeholder, referred, tableValue } from './placeholders.ts';
import { type Block, given, givenSecret, type Installer, type Partitions, type Piece } from './installer.ts';

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
  /** Whether whoever looks at it may know of a node; undefined: of all. */
  readonly sees?: ((node: string) => boolean) | undefined;
  /** Whether a placeholder is of no interest, and stays as it is. */
  stays?(placeholder: Placeholder): boolean;
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
      else if (this.#basis.stays?.(part)) found.push(part.text);
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
    HOSTNAME: (placeholder) => [placed(this.#basis.facts.hostname, placeholder)],
    NODE: (placeholder) => [placed(this.#basis.facts.hostname, placeholder)],
    DOMAIN: (placeholder) => (this.#basis.facts.domain ? [placed(this.#basis.facts.domain, placeholder)] : []),
    TIMEZONE: (placeholder) => [placed(this.#basis.facts.timezone, placeholder)],
    LOCALE: (placeholder) => [placed(this.#basis.facts.locale, placeholder)],
    KEYBOARD: (placeholder) => [placed(this.#basis.facts.keyboard, placeholder)],
    SOURCE: () => [given(mainSource(this.#basis.facts).url, `${this.#basis.facts.image.name}: pkgdir`)],
    REPORT_URL: (placeholder) => [placed(nodeUrl(this.#basis.facts, 'report'), placeholder)],
    ANSWERS_URL: (placeholder) => [placed(nodeUrl(this.#basis.facts, 'answer'), placeholder)],
    PARTITIONS: () => this.#basis.installer.partitions(this.#basis.partitions, this.#basis.facts),
    // The script of a partition file is part of what PARTITIONS stands for.
    XCA_PARTITION_SCRIPT: () => this.#basis.installer.partitions(this.#basis.partitions, this.#basis.facts),
  };

  #table(placeholder: Placeholder, mayBeBlank: boolean): Piece[] {
    const { text, where } = placeholder;
    const { reader, facts, sees } = this.#basis;
    const value = tableValue(reader, facts.node, placeholder, noSecrets);
    const found = referred(reader, facts.node, placeholder);
    const isOthers = isOfOthers(found);
    if (isOthers && sees && !isSeen(reader.snapshot, found, sees)) return [hidden];
    // Errors go to whoever may look at this node.
    if (value !== undefined) return [(isOthers ? givenSecret : given)(value, `${where}: ${text}`)];
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
    if (rootPassword !== undefined) return [givenSecret(rootPassword, `${where}: ${text}`)];
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

const noSecrets =
  "and answer files hold no secrets; for the hash of root's password write #CRYPT:passwd:key=system,username=root:password#.";

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
