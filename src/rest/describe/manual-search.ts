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

/** How much a word says about each entry that has it, by the number of the entry. */
type Weights = Map<number, number>;

/** Which entries have a word, for all words. */
function indexOf(entries: readonly Entry[]): Map<string, Weights> {
  const byWord = new Map<string, Weights>();
  entries.forEach((entry, position) => {
    for (const [word, weight] of weightsOf(entry)) {
      if (!byWord.has(word)) byWord.set(word, new Map());
      byWord.get(word)!.set(position, weight);
    }
  });
  return byWord;
}

/** Makes a search over entries. The first search reads all of them, in a fifth of a second; each other one only what has its words. */
export function searchOf(entries: readonly Entry[]): (question: string) => Found {
  let byWord: Map<string, Weights> | undefined;
  return (question) => {
    byWord ??= indexOf(entries);
    const rated: { weights: Weights; rarity: number }[] = [];
    for (const word of wordsOf(question)) {
      const weights = weightsFor(word, byWord);
      rated.push({ weights, rarity: Math.log(1 + entries.length / (weights.size + 1)) });
    }
    const best = scored(rated)
      .map(({ position, score, share }) => ({ entry: entries[position]!, score, share }))
      .toSorted((a, b) => b.score * b.entry.worth - a.score * a.entry.worth);
    const shown = new Map<string, Entry>();
    for (const { entry } of best) {
      if (shown.size === most) break;
      if (!shown.has(entry.link)) shown.set(entry.link, entry);
    }
    return { entries: [...shown.values()], complete: best.some(({ share }) => share > 0.999) };
  };
}

/** What has more of the words comes before what has one of them often; rare words say more. */
function scored(
  words: readonly { readonly weights: Weights; readonly rarity: number }[],
): { position: number; score: number; share: number }[] {
  const all = words.reduce((sum, { rarity }) => sum + rarity, 0);
  const sums = new Map<number, { sum: number; share: number }>();
  for (const { weights, rarity } of words) {
    for (const [position, weight] of weights) {
      const { sum, share } = sums.get(position) ?? { sum: 0, share: 0 };
      sums.set(position, { sum: sum + weight * rarity, share: share + rarity / all });
    }
  }
  return [...sums].map(([position, { sum, share }]) => ({ position, score: sum * share * share, share }));
}

/** A word of a title counts most, and more in a short one; a word of the text counts more in a short text, and if it is there often. */
function weightsOf({ title, within, text }: Entry): Map<string, number> {
  const weights = new Map<string, number>();
  const add = (word: string, weight: number): void => void weights.set(word, (weights.get(word) ?? 0) + weight);
  const titleWords = new Set(stemsOf(title));
  for (const word of titleWords) add(word, 2 + 4 / titleWords.size);
  for (const word of new Set(stemsOf(within))) add(word, 1);
  const counts = new Map<string, number>();
  const textWords = stemsOf(text);
  for (const word of textWords) counts.set(word, (counts.get(word) ?? 0) + 1);
  for (const [word, count] of counts) add(word, (2 * count) / (count + 0.5 + textWords.length / 100));
  return weights;
}

/** A word that fewer entries have may be the beginning of another. */
const few = 10;

/** A word itself counts in full; one that means the same, or that begins with it, counts less. */
function weightsFor(word: string, byWord: ReadonlyMap<string, Weights>): Weights {
  const found: Weights = new Map();
  const take = (from: string, factor: number): void => {
    for (const [position, weight] of byWord.get(from) ?? [])
      found.set(position, Math.max(found.get(position) ?? 0, weight * factor));
  };
  take(word, 1);
  for (const other of alternativesTo(word)) take(other, 0.7);
  if (word.length >= 3 && found.size < few)
    for (const longer of byWord.keys()) if (longer !== word && longer.startsWith(word)) take(longer, 0.4);
  return found;
}
