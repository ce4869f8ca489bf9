import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Marked, type Token, type Tokens } from 'marked';
import { home } from '../../core/home.ts';
import { html } from './html.ts';

/** What the pages are written in; they are shipped with muster. */
const docsDirectory = join(home, 'docs');

/** What a page says under one heading. */
export interface Section {
  readonly title: string;
  readonly anchor: string;
  /** 1 for the title of the page. */
  readonly depth: number;
  readonly text: string;
  /** The text without what is typed or printed. */
  readonly prose: string;
  /** Names that a table below the heading explains. */
  readonly terms: readonly { readonly name: string; readonly text: string }[];
}

export interface Page {
  /** `boot` of docs/boot.md, `reference/settings` of docs/reference/settings.md; empty for the contents. */
  readonly name: string;
  readonly title: string;
  readonly markup: string;
  readonly sections: readonly Section[];
}

const contentsFile = 'README.md';
const nameOf = (file: string): string => (file === contentsFile ? '' : file.replace(/\.md$/, ''));
const fileOf = (name: string): string => (name === '' ? contentsFile : `${name}.md`);

/** The names of all pages there are. */
export const pageNames = (): string[] =>
  (existsSync(docsDirectory) ? readdirSync(docsDirectory, { recursive: true, encoding: 'utf8' }) : [])
    .filter((file) => file.endsWith('.md'))
    .map(nameOf)
    .toSorted();

/** A page with links for readers at `base`, or undefined if there is none of that name. */
export function readPage(name: string, base: string): Page | undefined {
  const file = join(docsDirectory, fileOf(name));
  if (!pageNames().includes(name) || !existsSync(file)) return undefined;
  const tokens = new Marked().lexer(readFileSync(file, 'utf8'));
  const sections = sectionsOf(tokens);
  return { name, title: sections[0]?.title ?? name, markup: markupOf(tokens, name, base), sections };
}

function markupOf(tokens: Token[], name: string, base: string): string {
  const anchor = anchors();
  const marked = new Marked({
    renderer: {
      heading({ depth, tokens: inner, text }) {
        const id = anchor(text);
        const title = this.parser.parseInline(inner);
        return depth === 1
          ? `<h1 id="${id}">${title}</h1>\n`
          : `<h${depth} id="${id}"><a href="#${id}">${title}</a></h${depth}>\n`;
      },
      link({ href, tokens: inner }) {
        const text = titleOf(href, inner, name) ?? this.parser.parseInline(inner);
        return `<a href="${html`${servedAt(href, name, base)}`.text}">${text}</a>`;
      },
      code: ({ text, lang = '' }) =>
        html`<figure><figcaption>${captions[lang.split(' ')[0]!] ?? lang}</figcaption><pre tabindex="0"><code>${text}</code></pre></figure>
`.text,
      // Marks in the source; readers see nothing of them.
      html: () => '',
    },
  });
  // Wide tables scroll by themselves, not with the page.
  return marked
    .parser(tokens)
    .replaceAll('<table>', '<div class="wide"><table>')
    .replaceAll('</table>', '</table></div>');
}

const captions: Readonly<Record<string, string>> = {
  sh: 'Shell',
  text: 'Output',
  toml: 'Configuration file',
  python: 'Python',
  js: 'JavaScript',
  json: 'JSON',
  yaml: 'YAML',
};

/** The title of the page that a link names by its file: readers of a served page know no files. */
function titleOf(href: string, inner: readonly Token[], from: string): string | undefined {
  const [file] = href.split('#');
  if (!file!.endsWith('.md') || inner.map(plain).join('') !== file) return undefined;
  const { pathname } = new URL(file, `https://manual/${fileOf(from)}`);
  const path = join(docsDirectory, pathname);
  const title = existsSync(path) ? /^# (.*)$/m.exec(readFileSync(path, 'utf8'))?.[1] : undefined;
  return title === undefined ? undefined : html`${title}`.text;
}

/** Where a link of a page leads when the page is served. */
function servedAt(href: string, name: string, base: string): string {
  if (/^([a-z]+:|#|\/)/.test(href)) return href;
  const { pathname, hash } = new URL(href, `https://manual/${fileOf(name)}`);
  return `${base}${pathname === `/${contentsFile}` ? '' : pathname.replace(/\.md$/, '')}${hash}`;
}

/** Ids of headings as GitHub makes them, so that links work there too. */
export function anchors(): (title: string) => string {
  const used = new Map<string, number>();
  return (title) => {
    const id = title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    const count = used.get(id) ?? 0;
    used.set(id, count + 1);
    return count === 0 ? id : `${id}-${count}`;
  };
}

function sectionsOf(tokens: readonly Token[]): Section[] {
  const anchor = anchors();
  const sections: (Omit<Section, 'text' | 'prose' | 'terms'> & {
    parts: Token[];
    terms: Section['terms'][number][];
  })[] = [];
  for (const token of tokens) {
    if (token.type === 'heading') {
      const { text, depth } = token as Tokens.Heading;
      sections.push({ title: plain(token), anchor: anchor(text), depth, parts: [], terms: [] });
      continue;
    }
    const section = sections.at(-1);
    section?.parts.push(token);
    if (token.type === 'table') section?.terms.push(...termsOf(token as Tokens.Table));
  }
  const textOf = (parts: readonly Token[]): string => parts.map(plain).join(' ');
  return sections.map(({ parts, ...rest }) => ({
    ...rest,
    text: textOf(parts),
    prose: textOf(parts.filter(({ type }) => type !== 'code')),
  }));
}

/** Rows that begin with something in the type of code explain it. */
const termsOf = ({ rows }: Tokens.Table): Section['terms'] =>
  rows.flatMap(([first, ...others]) =>
    first?.tokens[0]?.type === 'codespan' ? [{ name: cellText(first), text: others.map(cellText).join(' ') }] : [],
  );

const cellText = ({ tokens }: Tokens.TableCell): string => tokens.map(plain).join('');

/** What a reader reads of it. */
function plain(token: Token): string {
  if (token.type === 'table') {
    const { rows } = token as Tokens.Table;
    return rows.map((row) => row.map(cellText).filter(Boolean).join(': ')).join('; ');
  }
  if (token.type === 'list') return (token as Tokens.List).items.map(plain).join(' ');
  if (token.type === 'html') return '';
  if ('tokens' in token && token.tokens !== undefined) return token.tokens.map(plain).join('');
  return 'text' in token ? String(token.text) : ' ';
}
