import { path } from './client.ts';
import type { Invocation } from './invocation.ts';

/** Ctrl-C ends the work on the server too; what came of each node is still told. */
export function cancelOnInterrupt({ client, signal, stderr }: Invocation, run: string | undefined): () => void {
  const cancel = (): void => {
    if (run === undefined) return;
    client.call('DELETE', path('runs', run)).catch((error: unknown) => {
      stderr.line(`The run ${run} could not be cancelled: ${error instanceof Error ? error.message : String(error)}`);
    });
  };
  signal.addEventListener('abort', cancel, { once: true });
  return () => signal.removeEventListener('abort', cancel);
}
