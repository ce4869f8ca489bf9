import { Store } from './store.ts';

const base = '/muster/console';

const here = (): string => location.pathname.slice(base.length) || '/';

/** The page that is shown, as a path below the console. */
export const route = new Store(here());

export const linkTo = (path: string): string => base + path;

export function go(path: string): void {
  history.pushState(null, '', linkTo(path));
  route.set(here());
  scrollTo(0, 0);
}

addEventListener('popstate', () => route.set(here()));

/** Links within the console change the page without a reload; those who want a new tab get one. */
document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  const isInside = link?.pathname === base || link?.pathname.startsWith(`${base}/`);
  if (!link || !isPlain || !isInside || link.origin !== location.origin || link.target !== '') return;
  event.preventDefault();
  go(link.pathname.slice(base.length) || '/');
});
