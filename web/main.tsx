import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { currentSession, signOut, whenSignedOut } from './api/client.ts';
import type { Session } from './api/types.ts';
import { Message } from './design/parts.tsx';
import { begin, end } from './model/live.ts';
import { go, linkTo, route } from './model/route.ts';
import { useStore } from './model/store.ts';
import { Changes } from './pages/changes.tsx';
import { Frame } from './pages/frame.tsx';
import { Images } from './pages/images.tsx';
import { Networks } from './pages/networks.tsx';
import { NodePage } from './pages/node.tsx';
import { Nodes } from './pages/nodes.tsx';
import { Overview } from './pages/overview.tsx';
import { RunPage } from './pages/run.tsx';
import { Runs } from './pages/runs.tsx';
import { SignIn } from './pages/sign-in.tsx';

function Page({ path }: { path: string }) {
  const [, section = '', ...rest] = path.split('/');
  const name = rest.length === 0 ? undefined : decodeURIComponent(rest.join('/'));
  if (section === '') return <Overview />;
  if (section === 'nodes') return name === undefined ? <Nodes /> : <NodePage key={name} name={name} />;
  if (section === 'runs') {
    const [id = '', range] = rest.map(decodeURIComponent);
    return id === '' ? <Runs /> : <RunPage key={id} id={id} range={range} />;
  }
  if (section === 'images') return <Images />;
  if (section === 'networks') return <Networks />;
  if (section === 'changes') return <Changes />;
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
