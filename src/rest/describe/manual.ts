import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Root } from '../endpoints/roots.ts';
import { Html, html } from './html.ts';
import { type Page, pageNames, readPage } from './manual-pages.ts';
import { type Entry, entriesOf, found, wordsOf } from './manual-search.ts';
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
  const byName = new Map(pages.map((page) => [page.name, page]));
  const entries = entriesOf(root, endpoints, pages, base);
  const navigation = navigationOf(root, pages, base);
  const shown = (title: string, content: Html): string =>
    framed(`${title}: muster ${version}`, html`${navigation}\n<main class="manual">\n${content}\n</main>`);
  return {
    page(name) {
      const page = byName.get(name);
      return page && shown(page.title, html`${new Html(page.markup)}`);
    },
    results(question) {
      const answers = found(entries, question);
      const lead =
        answers.length === 0
          ? `Nothing has all of these words: ${question.slice(0, 200)}`
          : `Search: ${question.slice(0, 200)}`;
      return shown('Search', html`<h1>${lead}</h1>\n${answers.map((entry) => result(entry, question))}`);
    },
  };
}

/** The pages in the order of the contents, whose headings are those of the list. */
function navigationOf(root: Root, pages: readonly Page[], base: string): Html {
  const contents = pages.find(({ name }) => name === '')!.markup;
  const lists = [...contents.matchAll(/<h2[^>]*><a[^>]*>(.*?)<\/a><\/h2>\s*<ul>([^]*?)<\/ul>/g)];
  return html`<nav aria-label="Contents">
<p class="name"><a href="${base}">muster</a></p>
${searchForm(root)}
${lists.map(([, title, list]) => {
  const links = [...list!.matchAll(/<a href="[^"]*">.*?<\/a>/g)].map(([link]) => link);
  return html`<strong>${new Html(title!)}</strong>
<ul>${links.map((link) => html`<li>${new Html(link)}</li>\n`)}</ul>
`;
})}<ul><li><a href="${root.prefix}/docs">REST interface</a></li></ul>
</nav>`;
}

const result = ({ title, within, link, text }: Entry, question: string): Html => html`<article class="result">
<h3><a href="${link}">${title}</a></h3>
<p class="more">${within}</p>
<p>${excerpt(text, wordsOf(question))}</p>
</article>
`;

const excerptLength = 220;

/** The text around the first word that was asked for. */
function excerpt(text: string, words: readonly string[]): string {
  const positions = words.map((word) => text.toLowerCase().indexOf(word)).filter((position) => position >= 0);
  const start = Math.max(0, Math.min(...positions, text.length) - 60);
  const from = start === 0 || positions.length === 0 ? 0 : text.indexOf(' ', start) + 1;
  const piece = text.slice(from, from + excerptLength);
  return `${from > 0 ? '... ' : ''}${piece}${from + excerptLength < text.length ? ' ...' : ''}`;
}
