import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { home } from '../../core/home.ts';

/** A page of the manual that comes with muster. */
interface Page {
  /** As `muster help` names it. */
  readonly name: string;
  readonly title: string;
  readonly text: string;
}

interface Section {
  readonly page: string;
  readonly title: string;
  readonly text: string;
}

const directory = join(home, 'docs');

export function manualPages(): Page[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .sort()
    .map((file) => {
      const text = readFileSync(join(directory, file), 'utf8');
      const name = file.slice(0, -'.md'.length);
      return { name, title: /^# (.+)$/m.exec(text)?.[1] ?? name, text };
    });
}

/** The sections whose title has the word, of all pages; those that only list limits or requests help nobody who looks for a topic. */
export function sectionsAbout(word: string): Section[] {
  const wanted = word.toLowerCase();
  return manualPages().flatMap(({ name, text }) =>
    text
      .split(/^(?=## )/m)
      .filter((section) => section.startsWith('## '))
      .map((section) => ({ page: name, title: /^## (.+)$/m.exec(section)![1]!, text: section }))
      .filter(({ title }) => title.toLowerCase().includes(wanted)),
  );
}

/** A page for the terminal: without marks for the generator, links as their words, code indented. */
export function plainText(page: string): string {
  const pieces = page.split(/^```.*\n/m).map((piece, at) => (at % 2 === 1 ? indented(piece) : withoutMarks(piece)));
  return pieces
    .join('')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trimEnd();
}

const indented = (code: string): string => code.replaceAll(/^(?=.)/gm, '    ');

const withoutMarks = (text: string): string =>
  text.replaceAll(/^<!--.*\n/gm, '').replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1');
