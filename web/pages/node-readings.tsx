import { useEffect, useState } from 'preact/hooks';
import { lines } from '../api/client.ts';
import { Message } from '../design/parts.tsx';
import type { NodeLine } from '../model/folds.ts';
import { texts } from '../texts/actions.ts';
import { Reasons } from './dry-run.tsx';

export interface Readings<T> {
  readonly values: ReadonlyMap<string, T>;
  readonly errors: Readonly<Record<string, string>>;
  readonly isDone: boolean;
  /** Why nothing can be read. */
  readonly problem?: string;
}

const nothing = { values: new Map<string, never>(), errors: {}, isDone: false };

/** What nodes answer to one question, as the answers come. Without a path nothing is asked. */
export function useReadings<T>(path: string | undefined): Readings<T> {
  const [readings, setReadings] = useState<Readings<T>>(nothing);
  useEffect(() => {
    setReadings(nothing);
    if (path === undefined) return;
    const controller = new AbortController();
    const values = new Map<string, T>();
    const errors: Record<string, string> = {};
    const read = async (): Promise<void> => {
      for await (const some of lines<NodeLine>(path, controller.signal)) {
        for (const { node, value, error } of some) {
          if (node === undefined) continue;
          if (error === undefined) values.set(node, value as T);
          else errors[node] = error;
        }
        setReadings({ values: new Map(values), errors: { ...errors }, isDone: false });
      }
      setReadings({ values, errors, isDone: true });
    };
    read().catch((failed: Error) => {
      if (!controller.signal.aborted) setReadings({ values, errors, isDone: true, problem: failed.message });
    });
    return () => controller.abort();
  }, [path]);
  return readings;
}

/** How many have answered, and why others cannot. */
export function ReadingState({ readings, count }: { readings: Readings<unknown>; count: number }) {
  const { values, errors, isDone, problem } = readings;
  const answered = values.size + Object.keys(errors).length;
  return (
    <>
      {!isDone && (
        <p class="muted numbers" role="status">
          {texts.reading(answered, count)}
        </p>
      )}
      {problem !== undefined && <Message tone="critical">{problem}</Message>}
      <Reasons reasons={errors} />
    </>
  );
}
