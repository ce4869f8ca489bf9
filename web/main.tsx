import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { currentSession, signOut, whenSignedOut } from './api/client.ts';
import type { Session } from './api/types.ts';
import { Message, Sentence } from './design/parts.tsx';
import { begin, end } from './model/live.ts';
import { go, linkTo, route } from './model/route.ts';
import { useStore } from './model/store.ts';
import { Frame } from './pages/frame.tsx';
import { pageAt } from './pages/pages.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { frame as texts } from './texts/frame.ts';

function Page({ path }: { path: string }) {
  const at = pageAt(path);
  if (at) return at.page.show(at.rest);
  return (
    <div class="empty">
      <h1>{texts.noPage}</h1>
      <p>
        <Sentence text={texts.toOverview}>{(part) => <a href={linkTo('/')}>{part}</a>}</Sentence>
      </p>
    </div>
  );
}

function Console() {
  const [session, setSession] = useState<Session | 'unknown' | undefined>('unknown');
  const [error, setError] = useState('');
  const path = useStore(route);
  useEffect(() => {
    whenSignedOut(() => {
      end();
      setSession(undefined);
    });
    currentSession().then(setSession, (failed: Error) => setError(failed.message));
  }, []);
  const user = typeof session === 'object' ? session.user : undefined;
  useEffect(() => {
    if (user !== undefined) void begin();
    return end;
  }, [user]);
  if (error !== '')
    return (
      <main class="sign-in">
        <Message tone="critical">{texts.reload(error)}</Message>
      </main>
    );
  if (session === 'unknown') return null;
  if (session === undefined) return <SignIn onSignedIn={setSession} />;
  const leave = async (): Promise<void> => {
    end();
    try {
      await signOut();
    } catch (failed) {
      return setError((failed as Error).message);
    }
    // Nothing that one account has read stays for the next.
    location.assign(linkTo('/'));
  };
  return (
    <Frame session={session} onSignOut={() => void leave()} onKey={go}>
      <Page path={path} />
    </Frame>
  );
}

render(<Console />, document.getElementById('console')!);
