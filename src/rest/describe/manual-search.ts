import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Root } from '../endpoints/roots.ts';
import { membersOf } from './attribute-schemas.ts';
import type { Page } from './manual-pages.ts';
import { operationId, rowsAt } from './rows.ts';

/** Something that a search may find. */
export interface Entry {
  readonly title: string;
  /** The page, or what else it is part of. */
  readonly within: string;
  readonly link: string;
  readonly text: string;
}

/** Everything in the manual at `base`, and every call of the interface. */
export const entriesOf = (
  root: Root,
  endpoints: readonly Endpoint[],
  pages: readonly Page[],
  base: string,
): Entry[] => [
  ...pages.flatMap((page) => pageEntries(page, base)),
  ...rowsAt(root, endpoints).map((row) => callEntry(root, row)),
];

function pageEntries({ name, title: pageTitle, sections }: Page, base: string): Entry[] {
  const page = name === '' ? base : `${base}/${name}`;
  return sections.flatMap(({ title, anchor, text, terms }) => {
    const link = `${page}#${anchor}`;
    return [
      { title, within: pageTitle, link, text },
      ...terms.map((term) => ({ title: term.name, within: `${pageTitle}: ${title}`, link, text: term.text })),
    ];
  });
}

function callEntry(root: Root, row: Endpoint): Entry {
  const members = row.body === undefined ? [] : membersOf(row.body);
  const words = [
    row.summary,
    row.description ?? '',
    row.command.name,
    ...members.flatMap(({ name, description }) => [name, description]),
  ];
  return {
    title: `${row.method} ${row.path}`,
    within: 'REST interface',
    link: `${root.prefix}/docs#${operationId(row)}`,
    text: words.join(' '),
  };
}

const most = 40;

/** Words of a question without the endings that would hide an answer. */
export const wordsOf = (question: string): string[] =>
  question
    .slice(0, 200)
    .toLowerCase()
    .split(/[\s,;:?!"'()]+/)
    .map((word) => (word.length > 4 ? word.replace(/(?<=[^s])s$/, '') : word))
    .filter((word) => word !== '');

/** What has all words of the question, best first. */
export function found(entries: readonly Entry[], question: string): Entry[] {
  const words = wordsOf(question);
  if (words.length === 0) return [];
  return entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ entry }) => entry);
}

/** A title counts more than a text, a whole word more than a part of one, a short text more than a long one. */
function scoreOf({ title, within, text }: Entry, words: readonly string[]): number {
  const [head, page, body] = [title.toLowerCase(), within.toLowerCase(), text.toLowerCase()];
  let score = 0;
  for (const word of words) {
    const inHead = weight(head, word);
    const inBody = weight(body, word);
    const inPage = weight(page, word);
    if (inHead + inBody + inPage === 0) return 0;
    score += 8 * inHead + 3 * inPage + inBody * (1 + 2 / (1 + body.length / 500));
  }
  return score;
}

function weight(text: string, word: string): number {
  const position = text.indexOf(word);
  if (position < 0) return 0;
  return startsWord(text, position) ? 2 : 1;
}

const startsWord = (text: string, position: number): boolean => position === 0 || !/\w/.test(text[position - 1]!);
