import { useState } from 'preact/hooks';
import { signIn } from '../api/client.ts';
import type { Session } from '../api/types.ts';
import { Message } from '../design/parts.tsx';
import { Mark } from './frame.tsx';

export function SignIn({ onSignedIn }: { onSignedIn: (session: Session) => void }) {
  const [error, setError] = useState('');
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const [name, password] = (event.currentTarget as HTMLFormElement).querySelectorAll('input');
    setBusy(true);
    try {
      onSignedIn(await signIn(name!.value, password!.value));
    } catch (failed) {
      setError((failed as Error).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <div class="brand">
          <Mark /> muster
        </div>
        <h1>Sign in</h1>
        <label class="label">
          Account
          <input class="field" name="userName" autocomplete="username" autocapitalize="none" required autofocus />
        </label>
        <label class="label">
          Password
          <input class="field" name="userPW" type="password" autocomplete="current-password" required />
        </label>
        {error !== '' && <Message tone="critical">{error}</Message>}
        <button class="button primary" disabled={isBusy}>
          {isBusy ? 'Signing in…' : 'Sign in'}
        </button>
        <p class="muted small">
          The account is the one you use with <code>muster login</code>.
        </p>
      </form>
    </main>
  );
}
