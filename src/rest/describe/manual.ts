import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Root } from '../endpoints/roots.ts';
import { Fault } from '../../core/errors.ts';
import { Html, html } from './html.ts';
import { type Page, pageNames, readPage } from './manual-pages.ts';
import { type Entry, entriesOf, searchOf, wordsOf } from './manual-search.ts';
import { framed, searchForm } from './page-frame.ts';

/** The manual as it is served below a root. */
export interface Manual {
  /** A page by its name, as HTML; undefined if there is none. */
  page(name: string): string | undefined;
  /** What a search finds, as a page. */
  results(question: string): string;
}

/** Reads all pages: a fifth of a second for whoever asks first. */
export function openManual(root: Root, endpoints: readonly Endpoint[], version: string): Manual {
  const base = `${root.prefix}/manual`;
  const pages = pageNames().map((name) => readPage(name, base)!);
  if (!pages.some(({ name }) => name === ''))
    throw new Fault(
      'unknown-path',
      `This server was installed without its manual; ${root.prefix}/docs describes the interface.`,
    );
  const byName = new Map(pages.map((page) => [page.name, page]));
  const search = searchOf(entriesOf(root, endpoints, pages, base));
  const navigation = navigationOf(root, pages, base);
  const shown = (title: string, content: Html, within: { page?: Page; question?: string }): string =>
    framed(`${title}: muster ${version}`, html`${navigation(within)}\n<main class="manual">\n${content}\n</main>`);
  return {
    page(name) {
      const page = byName.get(name);
      return page && shown(page.title, new Html(page.markup), { page });
    },
    results(asked) {
      const question = asked.slice(0, 200);
      const { entries, complete } = search(question);
      return shown(
        'Search',
        html`<h1>${headingOf(question, entries.length, complete)}</h1>\n${entries.map((entry) => result(entry, question))}`,
        { question },
      );
    },
  };
}

function headingOf(question: string, count: number, complete: boolean): string {
  if (question.trim() === '') return 'Search: type what you want to do';
  if (count === 0) return `Nothing found: ${question}`;
  return complete ? `Search: ${question}` : `Nothing has all of these words, but some of them: ${question}`;
}

/** The pages in the order of the contents, whose headings are those of the list. The page that is shown has its sections below it. */
function navigationOf(
  root: Root,
  pages: readonly Page[],
  base: string,
): (within: { page?: Page; question?: string }) => Html {
  const contents = pages.find(({ name }) => name === '')!.markup;
  const lists = [...contents.matchAll(/<h2[^>]*><a[^>]*>(.*?)<\/a><\/h2>\s*<ul>([^]*?)<\/ul>/g)].map(
    ([, title, list]) => ({
      title: new Html(title!),
      links: [...list!.matchAll(/<a href="([^"]*)">(.*?)<\/a>/g)].map(([, href, name]) => ({
        href: href!,
        name: name!,
      })),
    }),
  );
  return ({ page, question = '' }) => {
    const here = page && `${base}/${page.name}`;
    return html`<nav aria-label="Contents">
<p class="name"><a href="${base}">muster</a></p>
${searchForm(root, question)}
<details class="contents" open><summary>Contents</summary>
${lists.map(
  ({ title, links }) => html`<strong>${title}</strong>
<ul>${links.map(({ href, name }) => (href === here ? openLink(href, name, page!) : html`<li><a href="${href}">${new Html(name)}</a></li>\n`))}</ul>
`,
)}<ul><li><a href="${root.prefix}/docs">REST interface</a></li></ul>
</details>
</nav>`;
  };
}

/** The link to the page that is shown, with its sections. */
const openLink = (href: string, name: string, { sections }: Page): Html =>
  html`<li><a href="${href}" aria-current="page">${new Html(name)}</a>
<ul>${sections
    .filter(({ depth }) => depth === 2)
    .map(({ title, anchor }) => html`<li><a href="#${anchor}" title="${title}">${title}</a></li>\n`)}</ul></li>
`;

const result = ({ title, within, link, prose }: Entry, question: string): Html => html`<article class="result">
<h3><a href="${link}">${title}</a></h3>
<p class="more">${within}</p>
<p>${excerpt(prose, wordsOf(question))}</p>
</article>
`;

const excerptLength = 220;

/** The text around the first word that was asked for. */
function excerpt(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const positions = words.map((word) => lower.indexOf(word)).filter((position) => position >= 0);
  const start = Math.max(0, Math.min(...positions, text.length) - 60);
  const from = start === 0 || positions.length === 0 ? 0 : text.indexOf(' ', start) + 1;
  const piece = text.slice(from, from + excerptLength);
  return `${from > 0 ? '... ' : ''}${piece}${from + excerptLength < text.length ? ' ...' : ''}`;
}
