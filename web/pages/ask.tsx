// What questions before an action share.
import { useState } from 'preact/hooks';
import { begin, root } from '../api/client.ts';
import { go } from '../model/route.ts';

export const quoted = (text: string): string =>
  /^[\w.,:=@/[\]+-]+$/.test(text) && !/[[\]]/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

export const curlOf = (method: string, path: string, body: object): string =>
  `curl --cacert ca.pem -H "X-Auth-Token: $TOKEN" -H 'Content-Type: application/json' -X ${method} ${quoted(location.origin + root + path)} -d ${quoted(JSON.stringify(body))}`;

/** How the same is done elsewhere. */
export function Elsewhere({ line, curl }: { line: string; curl: string }) {
  return (
    <details>
      <summary class="muted small">The same from the command line, and with curl</summary>
      <pre class="code">{`${line}\n\n${curl}`}</pre>
    </details>
  );
}

export interface AskProps {
  readonly range: string;
  readonly count: number;
  onClose(): void;
}

/** Begins the work and leads to its run; `page` says more of what its page shows. */
export function useBegin(onClose: () => void) {
  const [error, setError] = useState('');
  const [isBusy, setBusy] = useState(false);
  const start = async (method: 'PUT' | 'POST', path: string, body: object, count: number, page = ''): Promise<void> => {
    setBusy(true);
    try {
      const run = await begin(method, path, body, count);
      onClose();
      go(`/runs/${run}${page}`);
    } catch (failed) {
      setError((failed as Error).message);
      setBusy(false);
    }
  };
  return { error, isBusy, start };
}
