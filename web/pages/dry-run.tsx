// What a dry run says: who would get what, and who would not.
import { useState } from 'preact/hooks';
import { expecting, type Work, write } from '../api/client.ts';
import type { ChangedRow } from '../api/types.ts';
import { Message } from '../design/parts.tsx';
import { foldReasons } from '../model/folds.ts';
import { folded } from '../model/ranges.ts';

export interface DryRun {
  readonly changes?: readonly ChangedRow[];
  readonly targets?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly refused?: Readonly<Record<string, string>>;
}

/** Reasons, each once with the nodes that they are about. */
export const Reasons = ({ reasons }: { reasons: Readonly<Record<string, string>> }) => (
  <>
    {[...foldReasons(Object.entries(reasons))].map(([reason, names]) => (
      <Message key={reason} tone="warning">
        <strong>{folded(names)}</strong>: {reason}
      </Message>
    ))}
  </>
);

/** Tries work without doing it. What was said of other work counts no more. */
export function useDryRun() {
  const [tried, setTried] = useState<{ readonly of: string; readonly plan: DryRun }>();
  const [problem, setProblem] = useState('');
  const [isTrying, setTrying] = useState(false);
  const attempt = async (of: string, { method, path, body, count }: Work): Promise<void> => {
    setProblem('');
    setTrying(true);
    const tries = `${path}${path.includes('?') ? '&' : '?'}dryRun=1`;
    try {
      const plan = await write<DryRun>(method, tries, { body, headers: expecting(count) });
      setTried({ of, plan });
    } catch (failed) {
      setProblem((failed as Error).message);
    }
    setTrying(false);
  };
  return { problem, isTrying, attempt, planOf: (of: string) => (tried?.of === of ? tried.plan : undefined) };
}
