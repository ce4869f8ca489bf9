import { Fault } from '../../core/errors.ts';
import { inSlices, type Interruptible } from '../../core/slices.ts';
import type { EffectiveReader } from '../../objects/effective.ts';
import { nodeAttribute } from '../../objects/node-attributes.ts';
import { hidden } from '../../objects/secret-names.ts';
import { isSecret, nodeType } from '../../objects/types.ts';
import { gatherFacts } from '../answers/facts.ts';
import { given, givenSecret, type Piece, type Value } from '../answers/installer.ts';
import {
  isOfOthers,
  isSeen,
  isThisNode,
  parseTemplate,
  placed,
  type Placeholder,
  referred,
  tableValue,
} from '../answers/placeholders.ts';
import { ShellText } from '../answers/shell-text.ts';
import { plainOnly, rendering as written, type Writer } from '../answers/writer.ts';
import type { Item, OverlayLoops } from './overlay-loops.ts';
import { bounds } from './overlay-tree.ts';

/** Whom a template is rendered for. */
export interface Rendering {
  readonly reader: EffectiveReader;
  readonly node: string;
  readonly installdir: string;
  /** Opens what is stored sealed, as a column; undefined: secrets are hidden, since somebody looks at it. */
  open?(sealed: string, column: string): string;
  /** Whether whoever looks at it may know of a node; undefined: of all. */
  readonly sees?: ((node: string) => boolean) | undefined;
}

type Part = string | Placeholder | Loop;
interface Loop {
  readonly over: Placeholder;
  readonly body: readonly Part[];
}

/** The file that a template makes for a node. Loops over all nodes of a cluster take long: others get their turn in between. */
export async function renderTemplate(
  text: string,
  { path, from }: { readonly path: string; readonly from: string },
  rendering: Rendering,
  loops: OverlayLoops,
): Promise<string> {
  const parsed = parseTemplate(text, from, { INSTALLDIR: rendering.installdir });
  if (parsed.some(isLoopOverHosts)) await loops.readHosts();
  const parts = nested(withoutLoopLines(parsed), from);
  const template = new OverlayTemplate(rendering, from, loops);
  return inSlices(
    (function* () {
      const pieces: Piece[] = [];
      yield* template.pieces(parts, undefined, pieces);
      return yield* written(pieces, writerFor(path, text));
    })(),
  );
}

/** Values come from whoever may set attributes of the node, and root reads the file: no value may become a command there. */
function writerFor(path: string, text: string): Writer {
  const shell = new ShellText();
  if (isForShell(path, text)) return shell;
  const silent = { text: () => undefined };
  const plain = (value: Value): string => plainOnly(value, `in ${path}, from which commands are run`);
  if (isForCron.test(path)) return { text: (each) => shell.text(each), value: plainFor(shell, plain) };
  if (!text.startsWith('#!') && !runsCommands.test(path)) return { ...silent, value: ({ value }) => value };
  return { ...silent, value: plain };
}

/** cron has its own meaning for percent signs and blanks, and then a shell reads the rest. */
const plainFor =
  (shell: ShellText, plain: (value: Value) => string) =>
  (value: Value): string => {
    const text = plain(value);
    shell.value(value);
    return text;
  };

/** What shells read: scripts, what they read by its name when they start, and the files of variables that scripts of the system read. */
const isForShell = (path: string, text: string): boolean =>
  /^#!\s*\S*\/(env\s+)?(ba|da|k|z)?sh\b/.test(text) || namedForShell.test(path);

const namedForShell =
  /^\/etc\/((default|sysconfig|profile\.d|zsh|X11\/Xsession\.d)\/|(profile|rc\.local|bash\.?(bash)?rc|[kz]shrc|zshenv|ssh\/sshrc)$)|\/\.(bashrc|bash_\w+|profile|[kz]shrc|z(shenv|profile|login|logout)|x(profile|initrc|session)|ssh\/rc)$|\.sh$/;

const isForCron = /^\/etc\/(ana|in)?cron|^\/var\/spool\/cron/;

/** Other files of the system with commands in them, or with who may run some. */
const runsCommands =
  /^\/etc\/(sudoers|udev\/|pam\.|inittab|rc\.|logrotate|network\/|acpi\/)|^\/(etc|usr\/(local\/)?lib|lib)\/systemd\/(system|user)\/|\/\.config\/systemd\/user\//;

/** Whether there is a secret in what a template makes. */
export const namesSecret = (text: string): boolean => text.includes('#SECRET');

const isLoopMark = (part: string | Placeholder | undefined): boolean =>
  typeof part === 'object' && (part.name === 'EACH' || part.name === 'END');

const isLoopOverHosts = (part: string | Placeholder): boolean =>
  typeof part === 'object' && part.name === 'EACH' && (part.argument ?? '').startsWith('hosts');

/** A mark of a loop that has a line for itself leaves no empty one behind. */
const withoutLoopLines = (parts: readonly (string | Placeholder)[]): (string | Placeholder)[] =>
  parts.map((part, index) => {
    if (typeof part !== 'string' || !isLoopMark(parts[index - 1]) || !part.startsWith('\n')) return part;
    const before = parts[index - 2];
    const beginsLine =
      before === undefined || isLoopMark(before) || (typeof before === 'string' && before.endsWith('\n'));
    return beginsLine ? part.slice(1) : part;
  });

/** Loops in each other. */
const deepest = 8;

function nested(parts: readonly (string | Placeholder)[], from: string): readonly Part[] {
  const open: { over: Placeholder; body: Part[] }[] = [];
  const top: Part[] = [];
  for (const part of parts) {
    const into = open.at(-1)?.body ?? top;
    if (typeof part !== 'string' && part.name === 'EACH') {
      if (open.length === deepest)
        throw new Fault('invalid', `${part.where}: ${part.text}: at most ${deepest} loops stand in each other.`);
      open.push({ over: part, body: [] });
    } else if (typeof part !== 'string' && part.name === 'END') {
      const loop = open.pop();
      if (!loop) throw new Fault('invalid', `${part.where}: #END# ends no #EACH:...#.`);
      (open.at(-1)?.body ?? top).push(loop);
    } else into.push(part);
  }
  const [unended] = open;
  if (unended) throw new Fault('invalid', `${unended.over.where}: ${unended.over.text} has no #END# in ${from}.`);
  return top;
}

type Resolver = (placeholder: Placeholder) => Piece[];

class OverlayTemplate {
  readonly #rendering: Rendering;
  readonly #from: string;
  readonly #loops: OverlayLoops;
  /** All but items are the same in each round. */
  readonly #resolved = new Map<Placeholder, readonly Piece[]>();
  #characters = 0;

  constructor(rendering: Rendering, from: string, loops: OverlayLoops) {
    this.#rendering = rendering;
    this.#from = from;
    this.#loops = loops;
  }

  *pieces(parts: readonly Part[], item: Item | undefined, into: Piece[]): Interruptible<void> {
    for (const part of parts) {
      if (typeof part === 'string') this.#add(into, part);
      else if ('body' in part)
        for (const each of this.#loops.items(part.over)) {
          this.#loops.countRound(part.over);
          yield* this.pieces(part.body, each, into);
          yield;
        }
      else for (const piece of this.#piecesOf(part, item)) this.#add(into, piece);
      yield;
    }
  }

  #add(into: Piece[], piece: Piece): void {
    this.#characters += typeof piece === 'string' ? piece.length : piece.value.length;
    if (this.#characters > bounds.bytes)
      throw new Fault(
        'invalid',
        `A template makes a file of more than ${bounds.bytes} characters for ${this.#rendering.node}: ${this.#from}.`,
      );
    into.push(piece);
  }

  #piecesOf(placeholder: Placeholder, item: Item | undefined): readonly Piece[] {
    if (placeholder.name === 'ITEM') return itemPieces(placeholder, item);
    let pieces = this.#resolved.get(placeholder);
    if (!pieces) this.#resolved.set(placeholder, (pieces = this.#resolve(placeholder)));
    return pieces;
  }

  #resolve(placeholder: Placeholder): Piece[] {
    const { name, text, where } = placeholder;
    const resolver = Object.hasOwn(this.#resolvers, name) ? this.#resolvers[name] : undefined;
    if (resolver) return resolver(placeholder);
    throw new Fault(
      'invalid',
      `${where}: ${text} is not known. If it is a comment, put a space after the first #. There are ${Object.keys(this.#resolvers).join(', ')}, EACH, ITEM and END.`,
    );
  }

  readonly #resolvers: Readonly<Record<string, Resolver>> = {
    NODE: () => [this.#rendering.node],
    HOSTNAME: (placeholder) => [placed(this.#facts.hostname, placeholder)],
    DOMAIN: (placeholder) => (this.#facts.domain ? [placed(this.#facts.domain, placeholder)] : []),
    TIMEZONE: (placeholder) => [placed(this.#facts.timezone, placeholder)],
    LOCALE: (placeholder) => [placed(this.#facts.locale, placeholder)],
    KEYBOARD: (placeholder) => [placed(this.#facts.keyboard, placeholder)],
    ATTRIBUTE: (placeholder) => this.#attribute(placeholder, false),
    ATTRIBUTEBLANKOKAY: (placeholder) => this.#attribute(placeholder, true),
    TABLE: (placeholder) => this.#table(placeholder, false),
    TABLEBLANKOKAY: (placeholder) => this.#table(placeholder, true),
    SECRET: (placeholder) => this.#secret(placeholder),
  };

  get #facts() {
    return gatherFacts(this.#rendering.reader, this.#rendering.node);
  }

  #attribute(placeholder: Placeholder, mayBeBlank: boolean): Piece[] {
    const { reader, node } = this.#rendering;
    const { argument = '', text, where } = placeholder;
    const mappings = nodeType.attributes.get(argument.split('.', 1)[0]!)?.at;
    if (!mappings)
      throw new Fault('invalid', `${where}: ${text}: nodes have no attribute ${JSON.stringify(argument)}.`);
    if (mappings.some(isSecret)) throw new Fault('invalid', `${where}: ${text} is a secret, ${asSecret}`);
    return valueOf(nodeAttribute(reader, node, argument), placeholder, mayBeBlank);
  }

  #table(placeholder: Placeholder, mayBeBlank: boolean): Piece[] {
    const { reader, node, sees } = this.#rendering;
    const value = tableValue(reader, node, placeholder, asSecret);
    const found = referred(reader, node, placeholder);
    if (!isOfOthers(found)) return valueOf(value, placeholder, mayBeBlank);
    if (sees && !isSeen(reader.snapshot, found, sees)) return [hidden];
    // Errors go to whoever may look at this node.
    return valueOf(value, placeholder, mayBeBlank, givenSecret);
  }

  /** Only what is the node's own, and secrets of the site that were made to be handed out; accounts of muster are neither. */
  #secret(placeholder: Placeholder): Piece[] {
    const { reader, node, open } = this.#rendering;
    const { text, where } = placeholder;
    const { table, key, column, value, isSecret: isOne } = referred(reader, node, placeholder);
    if (!isOne) throw new Fault('invalid', `${where}: ${text} is no secret; write #TABLE:...#.`);
    if (!isThisNode(key) && table.name !== 'site')
      throw new Fault(
        'invalid',
        `${where}: ${text}: a node gets its own secrets ($NODE) and those of the table site, and no others.`,
      );
    if (value === undefined) return valueOf(undefined, placeholder, false);
    return [open ? givenSecret(open(value, `${table.name}.${column}`), `${where}: ${text}`) : hidden];
  }
}

const asSecret = 'which goes to the node alone and is not shown: write #SECRET:table:$NODE:column#.';

function valueOf(
  value: string | undefined,
  { text, where, name }: Placeholder,
  mayBeBlank: boolean,
  as: typeof given = given,
): Piece[] {
  if (value !== undefined) return [as(value, `${where}: ${text}`)];
  if (mayBeBlank) return [];
  const okay = name === 'SECRET' ? '' : `, or write #${name}BLANKOKAY:...# where there need not be one`;
  throw new Fault('invalid', `${where}: ${text} has no value. Set it${okay}.`);
}

function itemPieces({ argument = '', text, where }: Placeholder, item: Item | undefined): Piece[] {
  if (!item) throw new Fault('invalid', `${where}: ${text} stands in no loop (#EACH:...# to #END#).`);
  if (!Object.hasOwn(item, argument))
    throw new Fault(
      'invalid',
      `${where}: ${text} is not known in this loop; there are ${Object.keys(item).join(', ')}.`,
    );
  return item[argument] === '' ? [] : [given(item[argument]!, `${where}: ${text}`)];
}
