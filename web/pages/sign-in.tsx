import { useState } from 'preact/hooks';
import { signIn } from '../api/client.ts';
import type { Session } from '../api/types.ts';
import { Message, Sentence } from '../design/parts.tsx';
import { common } from '../texts/common.ts';
import { signIn as texts } from '../texts/frame.ts';
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
          <Mark /> {common.product}
        </div>
        <h1>{texts.title}</h1>
        <label class="label">
          {texts.account}
          <input class="field" name="userName" autocomplete="username" autocapitalize="none" required autofocus />
        </label>
        <label class="label">
          {texts.password}
          <input class="field" name="userPW" type="password" autocomplete="current-password" required />
        </label>
        {error !== '' && <Message tone="critical">{error}</Message>}
        <button class="button primary" disabled={isBusy}>
          {isBusy ? texts.busy : texts.title}
        </button>
        <p class="muted small">
          <Sentence text={texts.hint}>{(part) => <code>{part}</code>}</Sentence>
        </p>
      </form>
    </main>
  );
}
