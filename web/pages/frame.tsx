import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Session } from '../api/types.ts';
import { Badge, Dialog } from '../design/parts.tsx';
import { connection } from '../model/live.ts';
import { linkTo } from '../model/route.ts';
import { select } from '../model/selection.ts';
import { useStore } from '../model/store.ts';
import { chooseTheme, type Theme, theme, themes } from '../model/theme.ts';
import { common } from '../texts/common.ts';
import { frame as texts, keys, palette } from '../texts/frame.ts';
import { ActionBar } from './actions.tsx';
import { PageLinks, PageSheet, PhoneBar } from './navigation.tsx';
import { pages } from './pages.tsx';
import { type Call, Palette } from './palette.tsx';
import { RangeBox } from './range-box.tsx';

export const Mark = () => (
  <span class="mark" aria-hidden="true">
    {Array.from({ length: 9 }, (_, i) => (
      <i key={i} />
    ))}
  </span>
);

const listed = [...keys.before, ...pages.map(({ name, key }) => keys.page(key, name)), ...keys.after];

interface FrameProps {
  readonly session: Session;
  onSignOut(): void;
  onKey(page: string): void;
  readonly children: ComponentChildren;
}

export function Frame({ session, onSignOut, onKey, children }: FrameProps) {
  const state = useStore(connection);
  const [showsKeys, setShowsKeys] = useState(false);
  const [showsPages, setShowsPages] = useState(false);
  const [isCalling, setCalling] = useState(false);
  const chosenTheme = useStore(theme);
  useEffect(() => {
    let isGoing = false;
    const press = (event: KeyboardEvent): void => {
      const { target } = event;
      if ((event.ctrlKey || event.metaKey) && event.key === 'k' && !document.querySelector('dialog[open]')) {
        event.preventDefault();
        setCalling(true);
      }
      const isTyping = target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
      const to = isGoing ? pages.find(({ key }) => key === event.key) : undefined;
      if (to) onKey(to.path);
      isGoing = !to && event.key === 'g';
      if (to) return;
      if (event.key === '?') setShowsKeys(true);
      if (event.key !== '/') return;
      event.preventDefault();
      document.getElementById('range')?.focus();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [onKey]);
  const calls: readonly Call[] = [
    ...pages.map(({ path, name, key }) => ({ name, what: palette.kinds.page(key), run: () => onKey(path) })),
    { name: palette.selectNone, what: palette.kinds.action, run: () => select('') },
    ...themes.map((each) => ({
      name: palette.theme(texts.themes[each]),
      what: palette.kinds.setting,
      run: () => chooseTheme(each),
    })),
    { name: keys.title, what: palette.kinds.keys, run: () => setShowsKeys(true) },
    { name: texts.manual, what: palette.kinds.help, run: () => void open('/muster/manual', '_blank', 'noreferrer') },
    { name: texts.signOut, what: session.user, run: onSignOut },
  ];
  return (
    <div class="frame">
      <div class="rail">
        <a class="brand" href={linkTo('/')}>
          <Mark /> {common.product}
        </a>
        <nav aria-label={texts.pages}>
          <PageLinks />
        </nav>
        <div class="foot">
          <span class="inline-label">
            <label for="theme">{texts.theme}</label>
            <select
              id="theme"
              class="field"
              value={chosenTheme}
              onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}
            >
              {themes.map((each) => (
                <option key={each} value={each}>
                  {texts.themes[each]}
                </option>
              ))}
            </select>
          </span>
          <a href="/muster/manual" target="_blank" rel="noreferrer">
            {texts.manual}
          </a>
          <span class="cut" title={session.user}>
            {session.full ? session.user : texts.limited(session.user)}
          </span>
          <div class="row">
            <button type="button" class="button" onClick={onSignOut}>
              {texts.signOut}
            </button>
            <button type="button" class="button quiet" aria-label={keys.title} onClick={() => setShowsKeys(true)}>
              {keys.mark}
            </button>
          </div>
        </div>
      </div>
      <div>
        <div class="top">
          <RangeBox />
          <span class="grow only-wide" />
          <button type="button" class="button" aria-haspopup="dialog" onClick={() => setCalling(true)}>
            {palette.open}
            <kbd class="only-wide" aria-hidden="true">
              {keys.call}
            </kbd>
          </button>
          <span class="only-wide">
            <Badge tone={state === 'live' ? 'ok' : 'warning'}>{texts.connection[state]}</Badge>
          </span>
        </div>
        {state === 'lost' && (
          <p class="lost" role="status">
            {texts.lost}
          </p>
        )}
        <ActionBar />
        <main class="page">{children}</main>
      </div>
      <PhoneBar onMore={() => setShowsPages(true)} />
      {showsPages && <PageSheet onClose={() => setShowsPages(false)} />}
      {isCalling && <Palette calls={calls} onClose={() => setCalling(false)} />}
      {showsKeys && (
        <Dialog label={keys.title} onClose={() => setShowsKeys(false)}>
          <form method="dialog">
            <h1>{keys.title}</h1>
            <div class="keys">
              {listed.map(([key, what]) => [<kbd key={key}>{key}</kbd>, <span key={what}>{what}</span>])}
            </div>
            <button class="button">{common.close}</button>
          </form>
        </Dialog>
      )}
    </div>
  );
}
