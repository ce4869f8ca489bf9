import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pageText } from './page.ts';

const checkout = join(import.meta.dirname, '../..');
const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: checkout });
/** Their texts come from tables that have names of xCAT's and of hardware all over. */
const generated = ['attributes', 'tables', 'xcat-options'].map((page) => `docs/reference/${page}.md`);

/** What a reader reads as English: no code, no targets of links, no marks. */
const prose = (text: string): string =>
  text
    .replaceAll(/^```[^]*?^```/gm, '')
    .replaceAll(/^ {4}.*$/gm, '')
    .replaceAll(/<!--[^]*?-->/g, '')
    .replaceAll(/`[^`]*`/g, ' ')
    .replaceAll(/\]\([^)]*\)/g, '] ')
    .replaceAll(/'s\b/g, '');

describe('the spelling of', () => {
  it.each(pages.filter((page) => !generated.includes(page)))('%s', (page) => {
    const words = ['-d', 'en_US', '-p', join(import.meta.dirname, 'words.txt'), '-l'];
    const unknown = execFileSync('hunspell', words, { input: prose(pageText(page)), encoding: 'utf8' });
    expect([...new Set(unknown.split('\n'))].filter((word) => word !== '')).toEqual([]);
  });
});

/** What readers stumbled over, and what to say instead. */
const stumbling: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\b(is|are|was|were|be|been|being|gets?) told\b/i, 'reports, shows, says, gets'],
  [/\bvouch(es|ed)?\b/i, 'signs, proves'],
  [/\bpatience\b/i, 'timeout'],
  [/\b(left|leaves?) (\w+ )?alone\b/i, 'not changed, skipped, not retried'],
  [/(?<=[a-z] )(?<!\b(of|gen:|readonly|const) )\banew\b/i, 'again'],
  [/\bservice processors?\b/i, 'BMC'],
  [/\bspeaks? (of|against)\b/i, 'names, contradicts'],
];

const inPages: typeof stumbling = [
  ...stumbling,
  [/\bis looked at\b/i, 'muster checks'],
  [/\bdoes as well\b/i, 'works too'],
  [/\bwhom\b/i, 'who, or name them'],
  [/\btells?\b/i, 'shows, reports'],
];

function stumbles(text: string, patterns = stumbling): string[] {
  return text
    .split('\n')
    .flatMap((line, index) =>
      patterns.flatMap(([pattern, instead]) =>
        pattern.test(line) ? [`${index + 1}: ${line.trim()} (say: ${instead})`] : [],
      ),
    );
}

describe('no words that readers stumble over', () => {
  it.each(pages)('in %s', (page) => {
    expect(stumbles(pageText(page), inPages)).toEqual([]);
  });

  it('in what the program says, and in its comments', () => {
    const files = globSync(['src/**/*.{ts,json}', 'scripts/**/*.{ts,mjs}', 'share/**/*'], { cwd: checkout }).filter(
      (file) => /\.\w+$/.test(file) || file.startsWith('share/ramdisk/'),
    );
    const found = files.flatMap((file) => stumbles(textOf(file)).map((line) => `${file}:${line}`));
    expect(found).toEqual([]);
  });

  it('finds such a word', () => {
    expect(stumbles('a\nThe node is told so.')).toEqual(['2: The node is told so. (say: reports, shows, says, gets)']);
    expect(stumbles('const { anew } = params; // options: anew')).toEqual([]);
  });
});

function textOf(file: string): string {
  try {
    return readFileSync(join(checkout, file), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EISDIR') return '';
    throw error;
  }
}
