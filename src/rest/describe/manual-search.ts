import MiniSearch, { type SearchResult } from 'minisearch';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Root } from '../endpoints/roots.ts';
import { membersOf } from './attribute-schemas.ts';
import type { Page } from './manual-pages.ts';
import { operationId, rowsAt } from './rows.ts';
import { alternativesTo, isFiller, stemsOf } from './manual-words.ts';

/** Something that a search may find. */
export interface Entry {
  readonly title: string;
  /** The page, or what else it is part of. */
  readonly within: string;
  readonly link: string;
  readonly text: string;
  /** The part of the text that reads well in a list of results. */
  readonly prose: string;
  /** How much it helps who has a task to do: 1 for pages of tasks, less for lists. */
  readonly worth: number;
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

/** Other pages are worth 1. */
const worthOfPages: Readonly<Record<string, number>> = { '': 0.6, limits: 0.5, speed: 0.6, reference: 0.6 };
/** A row of a table answers less than the section that has it, unless it was asked for by its name. */
const worthOfRows = 0.8;

function pageEntries({ name, title: pageTitle, sections }: Page, base: string): Entry[] {
  const page = name === '' ? base : `${base}/${name}`;
  return sections.flatMap(({ title, anchor, text, prose, terms }) => {
    const link = `${page}#${anchor}`;
    const worth = title === 'Limits' ? 0.6 : (worthOfPages[name.split('/')[0]!] ?? 1);
    return [
      { title, within: pageTitle, link, text, prose, worth },
      ...terms.map((term) => ({
        title: term.name,
        within: `${pageTitle}: ${title}`,
        link,
        text: term.text,
        prose: term.text,
        worth: worth * worthOfRows,
      })),
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
    prose: words.join(' '),
    worth: 0.7,
  };
}

const most = 40;
/** More words than this make a question no clearer, only a search longer. */
const mostWords = 8;

/** What decides in a question, as stems, each once. Words such as "how" and "the" count only if there are no others. */
export function wordsOf(question: string): string[] {
  const all = stemsOf(question.slice(0, 200));
  const telling = all.filter((word) => !isFiller(word));
  return [...new Set(telling.length > 0 ? telling : all)].slice(0, mostWords);
}

/** What a search found, best first. */
export interface Found {
  readonly entries: readonly Entry[];
  /** Whether one of them has all words of the question. */
  readonly complete: boolean;
}

/** Makes a search over entries. The first search reads all of them, in a fifth of a second. */
export function searchOf(entries: readonly Entry[]): (question: string) => Found {
  let index: MiniSearch | undefined;
  return (question) => {
    const words = wordsOf(question).map((word) => [word, ...alternativesTo(word)]);
    if (words.length === 0) return { entries: [], complete: false };
    index ??= indexOf(entries);
    const results = index.search({ combineWith: 'OR', queries: words.flat() }, { boost, prefix, boostDocument });
    const shown = new Map<string, Entry>();
    for (const { id } of results) {
      if (shown.size === most) break;
      const entry = entries[Number(id)]!;
      if (!shown.has(entry.link)) shown.set(entry.link, entry);
    }
    const hasAll = ({ queryTerms }: SearchResult): boolean =>
      words.every((same) => same.some((word) => queryTerms.includes(word)));
    return { entries: [...shown.values()], complete: results.some(hasAll) };
  };

  function boostDocument(id: unknown): number {
    return entries[Number(id)]!.worth;
  }
}

/** A word of a title says most. */
const boost = { title: 4, within: 1.5 };
/** A word may be the beginning of another. */
const prefix = (word: string): boolean => word.length >= 4;

function indexOf(entries: readonly Entry[]): MiniSearch {
  const index = new MiniSearch({ fields: ['title', 'within', 'text'], tokenize: stemsOf, processTerm: (word) => word });
  index.addAll(entries.map((entry, id) => ({ id, ...entry })));
  return index;
}
