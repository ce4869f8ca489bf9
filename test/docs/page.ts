import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const checkout = join(import.meta.dirname, '../..');

/** A piece of a page between ``` lines. */
export interface Block {
  /** The line of the page that it begins after. */
  readonly line: number;
  /** `sh` is run; `text` behind it is what it prints; anything else is shown only. */
  readonly language: string;
  /** The words behind the language: `follow` for commands that run until Ctrl-C, `elsewhere` for other machines. */
  readonly words: readonly string[];
  readonly text: string;
}

export const pageText = (page: string): string => readFileSync(join(checkout, page), 'utf8');

/** The blocks of a page (a path below the checkout) in their order. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let open: { line: number; info: string; lines: string[] } | undefined;
  for (const [index, line] of pageText(page).split('\n').entries()) {
    const fence = /^```(.*)$/.exec(line);
    if (fence === null) open?.lines.push(line);
    else if (open === undefined) open = { line: index + 1, info: fence[1]!, lines: [] };
    else {
      const [language = '', ...words] = open.info.split(' ');
      blocks.push({ line: open.line, language, words, text: open.lines.join('\n') });
      open = undefined;
    }
  }
  if (open !== undefined) throw new Error(`${page}:${open.line}: the block has no end.`);
  return blocks;
}
