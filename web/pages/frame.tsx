import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Session } from '../api/types.ts';
import { Badge, Dialog } from '../design/parts.tsx';
import { connection } from '../model/live.ts';
import { linkTo } from '../model/route.ts';
import { select } from '../model/selection.ts';
import { useStore } from '../model/store.ts';
import { chooseTheme, type Theme, theme, themes } from '../model/theme.ts';
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

const keys = [
  ['/', 'select nodes'],
  ['Ctrl K', 'go to a page, a node or an action by its name'],
  ...pages.map(({ name, key }) => [`g ${key}`, name.toLowerCase()] as const),
  ['arrow keys', 'move in the grid of nodes; Space selects, Enter opens'],
  ['Esc', 'leave a dialog, or select nothing'],
  ['?', 'these keys'],
] as const;

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
    ...pages.map(({ path, name, key }) => ({ name, what: `page, g ${key}`, run: () => onKey(path) })),
    { name: 'Select no nodes', what: 'action', run: () => select('') },
    ...themes.map((each) => ({ name: `Theme: ${each}`, what: 'setting', run: () => chooseTheme(each) })),
    { name: 'Keys', what: 'help, ?', run: () => setShowsKeys(true) },
    { name: 'Manual', what: 'help', run: () => void open('/muster/manual', '_blank', 'noreferrer') },
    { name: 'Sign out', what: session.user, run: onSignOut },
  ];
  return (
    <div class="frame">
      <div class="rail">
        <a class="brand" href={linkTo('/')}>
          <Mark /> muster
        </a>
        <nav aria-label="Pages">
          <PageLinks />
        </nav>
        <div class="foot">
          <span class="inline-label">
            <label for="theme">Theme</label>
            <select
              id="theme"
              class="field"
              value={chosenTheme}
              onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}
            >
              {themes.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </span>
          <a href="/muster/manual" target="_blank" rel="noreferrer">
            Manual
          </a>
          <span class="cut" title={session.user}>
            {session.user}
            {session.full ? '' : ' (limited)'}
          </span>
          <div class="row">
            <button type="button" class="button" onClick={onSignOut}>
              Sign out
            </button>
            <button type="button" class="button quiet" aria-label="Keys" onClick={() => setShowsKeys(true)}>
              ?
            </button>
          </div>
        </div>
      </div>
      <div>
        <div class="top">
          <RangeBox />
          <span class="grow only-wide" />
          <button type="button" class="button" aria-haspopup="dialog" onClick={() => setCalling(true)}>
            Go to
            <kbd class="only-wide" aria-hidden="true">
              Ctrl K
            </kbd>
          </button>
          <span class="only-wide">
            <Badge tone={state === 'live' ? 'ok' : 'warning'}>
              {state === 'live' ? 'live' : state === 'lost' ? 'not connected' : 'connecting'}
            </Badge>
          </span>
        </div>
        {state === 'lost' && (
          <p class="lost" role="status">
            The connection to the server is lost; what you see may be old. The console connects again by itself.
          </p>
        )}
        <ActionBar />
        <main class="page">{children}</main>
      </div>
      <PhoneBar onMore={() => setShowsPages(true)} />
      {showsPages && <PageSheet onClose={() => setShowsPages(false)} />}
      {isCalling && <Palette calls={calls} onClose={() => setCalling(false)} />}
      {showsKeys && (
        <Dialog label="Keys" onClose={() => setShowsKeys(false)}>
          <form method="dialog">
            <h1>Keys</h1>
            <div class="keys">
              {keys.map(([key, what]) => [<kbd key={key}>{key}</kbd>, <span key={what}>{what}</span>])}
            </div>
            <button class="button">Close</button>
          </form>
        </Dialog>
      )}
    </div>
  );
}
