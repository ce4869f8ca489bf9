// What questions before an action share.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { begin, root, type Work } from '../api/client.ts';
import { Dialog, Message } from '../design/parts.tsx';
import { go } from '../model/route.ts';
import { texts } from '../texts/actions.ts';
import { common } from '../texts/common.ts';

export const quoted = (text: string): string =>
  /^[\w.,:=@/[\]+-]+$/.test(text) && !/[[\]]/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const curl = 'curl --cacert ca.pem -H "X-Auth-Token: $TOKEN"';
const addressOf = (path: string): string => quoted(location.origin + root + path);

export const curlOf = (method: string, path: string, body?: object): string =>
  body === undefined
    ? `${curl} -X ${method} ${addressOf(path)}`
    : `${curl} -H 'Content-Type: application/json' -X ${method} ${addressOf(path)} -d ${quoted(JSON.stringify(body))}`;

/** Files go along as an archive. */
export const curlOfFiles = (path: string, names: readonly string[]): string =>
  `tar -c ${names.map(fileWord).join(' ')} | ${curl} -X PUT -H 'Content-Type: application/x-tar' --data-binary @- ${addressOf(path)}`;

/** A name of a file that is no option. */
export const fileWord = (name: string): string => quoted(name.startsWith('-') ? `./${name}` : name);

/** How the same is done elsewhere. */
function Elsewhere({ line, curl: request }: { line: string; curl: string }) {
  return (
    <details>
      <summary class="muted small">{texts.elsewhere}</summary>
      <pre class="code">{`${line}\n\n${request}`}</pre>
    </details>
  );
}

export interface AskProps {
  readonly range: string;
  readonly count: number;
  onClose(): void;
}

interface FormProps {
  readonly title: string;
  /** What it is about, below the title. */
  readonly about: string;
  /** What to know before one agrees. */
  readonly harm?: string | undefined;
  /** The words on the button, and whether it ends or replaces something. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  /** Undefined: there is nothing yet that can be done. */
  readonly isReady?: boolean | undefined;
  readonly isBusy: boolean;
  readonly error: string;
  readonly line: string;
  readonly curl: string;
  readonly isWide?: boolean;
  readonly children?: ComponentChildren;
  onSubmit(): void;
  onClose(): void;
}

/** A question before an action: what it does, to how much, and how else it is done. */
export function AskForm({ title, about, harm, verb, isDangerous, isReady = true, isBusy, error, ...rest }: FormProps) {
  const { line, curl: request, isWide = false, children, onSubmit, onClose } = rest;
  return (
    <Dialog label={title} onClose={onClose} isWide={isWide}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !isBusy) onSubmit();
        }}
      >
        <h1>{title}</h1>
        <p class="mono cut" title={about}>
          {about}
        </p>
        {children}
        {harm !== undefined && <Message tone="warning">{harm}</Message>}
        <Elsewhere line={line} curl={request} />
        {error !== '' && <Message tone="critical">{error}</Message>}
        <div class="row foot">
          <button class={`button ${isDangerous ? 'danger' : 'primary'}`} disabled={isBusy || !isReady}>
            {verb}
          </button>
          <button type="button" class="button" onClick={onClose}>
            {common.cancel}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Begins the work and leads to its run; `page` says more of what its page shows. Leaving the question ends what is still being sent. */
export function useBegin(onClose: () => void) {
  const [error, setError] = useState('');
  const [isBusy, setBusy] = useState(false);
  const asked = useRef<AbortController>(undefined);
  useEffect(() => () => asked.current?.abort(), []);
  const start = async (work: Work, page = ''): Promise<void> => {
    setBusy(true);
    setError('');
    const mine = (asked.current = new AbortController());
    try {
      const run = await begin(work, mine.signal);
      onClose();
      go(`/runs/${run}${page}`);
    } catch (failed) {
      if (mine.signal.aborted) return;
      setError((failed as Error).message);
      setBusy(false);
    }
  };
  return { error, isBusy, start, setError };
}
