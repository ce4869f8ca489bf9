import { Badge, Dialog } from '../design/parts.tsx';
import { runs } from '../model/live.ts';
import { linkTo, route } from '../model/route.ts';
import { useStore } from '../model/store.ts';
import { common } from '../texts/common.ts';
import { frame as texts } from '../texts/frame.ts';
import { pageAt, pages } from './pages.tsx';

const sections = [...new Set(pages.map(({ section }) => section))];

/** The links to all pages, under their headings. */
export function PageLinks() {
  const here = pageAt(useStore(route))?.page.path;
  const running = useStore(runs).filter(({ state }) => state === 'running').length;
  return sections.map((section) => (
    <div key={section} class="links">
      <h2 id={`pages-${section}`}>{texts.sections[section]}</h2>
      <ul aria-labelledby={`pages-${section}`}>
        {pages
          .filter((page) => page.section === section)
          .map(({ path, name }) => (
            <li key={path}>
              <a href={linkTo(path)} {...(path === here ? { 'aria-current': 'page' } : {})}>
                {name}
                {path === '/runs' && running > 0 && <Badge tone="accent">{running}</Badge>}
              </a>
            </li>
          ))}
      </ul>
    </div>
  ));
}

/** The bar at the bottom of a phone: the main pages, and a way to the others. */
export function PhoneBar({ onMore }: { onMore(): void }) {
  const here = pageAt(useStore(route))?.page;
  return (
    <nav class="bar" aria-label={texts.mainPages}>
      {pages
        .filter(({ isMain }) => isMain)
        .map(({ path, name }) => (
          <a key={path} href={linkTo(path)} {...(path === here?.path ? { 'aria-current': 'page' } : {})}>
            {name}
          </a>
        ))}
      <button
        type="button"
        aria-haspopup="dialog"
        onClick={onMore}
        {...(here && !here.isMain ? { 'aria-current': 'true' } : {})}
      >
        {texts.more}
      </button>
    </nav>
  );
}

/** All pages, on a phone. */
export const PageSheet = ({ onClose }: { onClose(): void }) => (
  <Dialog label={texts.allPages} onClose={onClose}>
    <div
      class="stack sheet"
      onClick={(event) => {
        if (event.target instanceof Element && event.target.closest('a')) onClose();
      }}
    >
      <PageLinks />
      <button type="button" class="button" onClick={onClose}>
        {common.close}
      </button>
    </div>
  </Dialog>
);
