import { Fault } from '../../core/errors.ts';
import { inQuotes } from '../../core/shell-words.ts';

/** The address of this server, in kernel arguments that are made before it is known. */
const serverMark = '!myipfn!';
/** A word for the installed system alone. */
const persistent = /(^| )R::\S*/g;

/** Arguments of a kernel; `!myipfn!` in them stands for this server. */
export interface KernelArguments {
  readonly args: string;
  /** What node and image add, in this order; a word that begins with `R::` is for the installed system alone. */
  readonly added: readonly string[];
}

export function argumentsOf({ args, added }: KernelArguments, server: string, keepsPersistent = false): string {
  const words = [args, ...added.map((text) => (keepsPersistent ? text : text.replaceAll(persistent, '').trim()))];
  return words
    .filter((text) => text !== '')
    .join(' ')
    .replaceAll(serverMark, server);
}

/** Words that a boot loader would take for something else than an argument. Whoever writes one has no way to mean it. */
const operators = new Set(['&&', '||', ';', '|', '&', '{', '}']);

export function checkWords(node: string, texts: readonly string[]): void {
  for (const text of texts) {
    if (/[^ -~]|"/.test(text) || text.split(' ').some((word) => operators.has(word)))
      throw new Fault(
        'invalid',
        `${node}: the kernel arguments have a quotation mark, an operator of boot loaders or a character that is not printable ASCII in "${text.replaceAll(/[^ -~]/g, '?')}"; leave it out.`,
      );
  }
}

/** As one word of a boot line that no loader and no shell reads as something else; the initial RAM disk decodes it. */
export const encodedWord = (text: string): string =>
  text.replaceAll(/[^A-Za-z0-9,./:=@_+-]+/gu, (part) =>
    [...Buffer.from(part)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );

const typographic: Readonly<Record<string, string>> = {
  '\u2018': "'",
  '\u2019': "'",
  '\u201C': '"',
  '\u201D': '"',
  '\u2026': '...',
};

/** For the screen of a machine, which has no letters but those of ASCII: accents are dropped, quotation marks and dashes become plain. */
export const inAscii = (text: string): string =>
  text
    .replaceAll(/[\u2018\u2019\u201C\u201D\u2026]/g, (mark) => typographic[mark]!)
    .replaceAll(/[\u2010-\u2015\u2212]/g, '-')
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^ -~]/gu, '?');

/** The line by which people recognise a script, without anything that a loader may look for in comments too. */
export const commentOf = (state: string): string => `#${state.replaceAll(/[^A-Za-z0-9 ,./:=@_+-]/g, '?')}`;

/** A word that GRUB's language would read as something else stands in single quotes. */
export const grubWords = (words: string): string => words.replaceAll(/\S*[$\\'{}|&;<>*?~#]\S*/g, inQuotes);
