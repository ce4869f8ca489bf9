import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { currentSession, signOut, whenSignedOut } from './api/client.ts';
import type { Session } from './api/types.ts';
import { Message } from './design/parts.tsx';
import { begin, end } from './model/live.ts';
import { go, linkTo, route } from './model/route.ts';
import { useStore } from './model/store.ts';
import { Frame } from './pages/frame.tsx';
import { pageAt } from './pages/pages.tsx';
import { SignIn } from './pages/sign-in.tsx';

function Page({ path }: { path: string }) {
  const at = pageAt(path);
  if (at) return at.page.show(at.rest);
  return (
    <div class="empty">
      <h1>There is no page here</h1>
      <p>
        Go to the <a href={linkTo('/')}>overview</a>.
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
        <Message tone="critical">{error} Reload the page to try again.</Message>
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
