import { runInNewContext } from 'node:vm';
import { type Element, type HTMLAnchorElement, type HTMLButtonElement, type HTMLInputElement, Window } from 'happy-dom';
import { describe, expect, it } from 'vitest';
import { docsPage } from '../../src/rest/describe/docs.ts';
import { exampleCurl } from '../../src/rest/describe/html.ts';
import { endpoints } from '../../src/rest/endpoints/index.ts';
import { musterRoot } from '../../src/rest/endpoints/roots.ts';

/** Enough to search in; all of them take long to read. */
const few = endpoints.filter(({ path }) =>
  ['/nodes/{noderange}', '/nodes/{noderange}/power', '/tables/{tablelist}/rows/{keys}'].includes(path),
);

type Kept = Pick<Storage, 'getItem' | 'setItem'>;

interface Browser {
  readonly clipboard?: { writeText(text: string): Promise<void> };
  /** Throws where the browser keeps nothing. */
  readonly storage?: () => Kept;
  /** Of the window, in pixels. */
  readonly width?: number;
}

function keeping(kept: Record<string, string> = {}): () => Kept {
  return () => ({ getItem: (name) => kept[name] ?? null, setItem: (name, value) => (kept[name] = value) });
}

/** The page after its script has run, as a reader has it. */
function opened({
  clipboard = { writeText: () => Promise.resolve() },
  storage = keeping(),
  width = 1_024,
}: Browser = {}) {
  const window = new Window({ width });
  Object.defineProperty(window, 'localStorage', { get: storage });
  const { document } = window;
  document.write(docsPage(musterRoot, few, '1.2.3'));
  const location = { hash: '' };
  const setTimeout = () => {};
  runInNewContext(document.querySelector('script')!.textContent, {
    document,
    window,
    location,
    navigator: { clipboard },
    setTimeout,
  });
  const box = document.querySelector('#search') as HTMLInputElement;
  const isShown = (id: string): boolean => document.getElementById(id)!.closest('[hidden]') === null;
  return {
    document,
    box,
    isShown,
    shown: (selector: string): Element[] =>
      [...document.querySelectorAll(selector)].filter((element) => element.closest('[hidden]') === null),
    type(text: string): void {
      box.value = text;
      box.dispatchEvent(new window.Event('input'));
    },
    follow(id: string): void {
      location.hash = `#${id}`;
      window.dispatchEvent(new window.Event('hashchange'));
    },
  };
}

describe('the search of the reference page', () => {
  it('is offered by the script alone', () => {
    expect(docsPage(musterRoot, few, '1')).toContain('<p hidden><input type="search" id="search"');
    const { isShown } = opened();
    expect([isShown('search'), isShown('nothing-found')]).toEqual([true, false]);
  });

  it('leaves the calls and attributes that have all words, and the way to them', () => {
    const { type, isShown, shown, document } = opened();
    type('POWER  bmcreboot');
    expect(shown('article').map(({ id }) => id)).toEqual(['putNodesByNoderangePower']);
    expect([isShown('group-nodes'), isShown('group-tables'), isShown('attributes'), isShown('dryrun')]).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(shown('nav li a').map((link) => link.getAttribute('href'))).toEqual(['#putNodesByNoderangePower']);
    type('nodehm.mgt');
    const names = shown('#attributes-node tbody tr').map((row) => row.querySelector('code')!.textContent);
    expect(names).toEqual(['mgt']);
    type('');
    expect(shown('article')).toHaveLength(document.querySelectorAll('article').length);
  });

  it('says if nothing has them', () => {
    const { type, isShown, shown } = opened();
    type('nosuchword');
    expect([isShown('nothing-found'), shown('article, section')]).toEqual([true, []]);
  });

  it('gives way to a link to what it hides', () => {
    const { type, follow, isShown, box, document } = opened();
    let scrolled = '';
    document.getElementById('dryrun')!.scrollIntoView = () => (scrolled = 'dryrun');
    type('bmcreboot');
    follow('dryrun');
    expect([isShown('dryrun'), box.value, scrolled]).toEqual([true, '', 'dryrun']);
  });
});

type Page = ReturnType<typeof opened>;

const tabsOf = ({ document }: Page, title: string): HTMLButtonElement[] =>
  [...document.querySelectorAll('.request figcaption button')].filter(
    ({ textContent }) => textContent === title,
  ) as HTMLButtonElement[];
const choose = (page: Page, title: string): void => tabsOf(page, title).at(-1)!.click();
const languageOf = ({ document }: Page): string | undefined => document.documentElement.dataset['language'];

describe('the language of the examples', () => {
  it('is chosen for the whole page, and kept for the next visit', () => {
    const kept = {};
    const page = opened({ storage: keeping(kept) });
    expect(languageOf(page)).toBe('curl');
    choose(page, 'Python');
    expect(languageOf(page)).toBe('python');
    const requests = page.document.querySelectorAll('.request').length;
    expect(tabsOf(page, 'Python')).toHaveLength(requests);
    for (const tab of tabsOf(page, 'Python')) expect(tab.getAttribute('aria-pressed')).toBe('true');
    for (const tab of tabsOf(page, 'curl')) expect(tab.getAttribute('aria-pressed')).toBe('false');
    expect(languageOf(opened({ storage: keeping(kept) }))).toBe('python');
  });

  it('can be chosen where the browser keeps nothing, or kept something else', () => {
    const page = opened({
      storage() {
        throw new Error('denied');
      },
    });
    expect(languageOf(page)).toBe('curl');
    choose(page, 'JavaScript');
    expect(languageOf(page)).toBe('javascript');
    expect(languageOf(opened({ storage: keeping({ 'muster.language': 'cobol' }) }))).toBe('curl');
  });

  it('is no matter of the search', () => {
    const { type, isShown } = opened();
    type('urllib');
    expect(isShown('nothing-found')).toBe(true);
  });
});

describe('the list of contents', () => {
  const isOpen = (page: ReturnType<typeof opened>): boolean =>
    page.document.querySelector('nav .contents')!.hasAttribute('open');

  it('is open beside the text, and closed above it on a small screen', () => {
    expect(isOpen(opened())).toBe(true);
    expect(isOpen(opened({ width: 390 }))).toBe(false);
  });

  it('closes on a small screen when one of its links is followed', () => {
    const page = opened({ width: 390 });
    page.document.querySelector('nav .contents')!.setAttribute('open', '');
    (page.document.querySelector('nav .contents a') as HTMLAnchorElement).click();
    expect(isOpen(page)).toBe(false);
  });
});

describe('the copy button of an example', () => {
  const row = few.find(({ method, path }) => method === 'PUT' && path === '/nodes/{noderange}/power')!;
  const press = async (page: ReturnType<typeof opened>): Promise<string | null> => {
    const button = page.document.querySelector('#putNodesByNoderangePower .copy') as HTMLButtonElement;
    button.click();
    await Promise.resolve();
    await new Promise(setImmediate);
    return button.textContent;
  };

  it('copies the command as it is to be typed', async () => {
    const copied: string[] = [];
    const page = opened({ clipboard: { writeText: async (text) => void copied.push(text) } });
    expect(await press(page)).toBe('Copied');
    choose(page, 'Command line');
    expect(await press(page)).toBe('Copied');
    expect(copied).toEqual([exampleCurl(musterRoot, row), 'muster rpower n1 on']);
  });

  it('says if the browser does not allow it', async () => {
    const page = opened({ clipboard: { writeText: () => Promise.reject(new Error('no')) } });
    expect(await press(page)).toBe('Not allowed');
  });
});
