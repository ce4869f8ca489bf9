import { Fault } from '../../core/errors.ts';
import { pause, within } from '../../core/waiting.ts';
import type { Hypervisor } from './hypervisor.ts';
import { hypervisorOf, isLost, type Machine } from './machine.ts';

/**
 * Takes back what was done, whether or not it was done at all; what cannot be taken back is a Fault that says so. The hypervisor may be
 * connected to anew since.
 */
export type Undo = (hypervisor: Hypervisor, signal: AbortSignal) => Promise<void>;

/** Milliseconds for each step back. */
const undoTimeout = 60_000;
const retryPause = 250;

/** Takes back what was done, the last first; what stays is told with the failure, after `words`. */
export async function undone(
  error: unknown,
  undo: readonly Undo[],
  machine: Pick<Machine, 'access' | 'hypervisors'>,
  words: string,
): Promise<unknown> {
  const left: string[] = [];
  for (const step of undo.toReversed()) {
    try {
      await persist(machine, step);
    } catch (problem) {
      left.push((problem as Error).message);
    }
  }
  if (left.length === 0 || !(error instanceof Fault)) return error;
  return new Fault(error.kind, [...error.sentences, `${words} ${left.join(' ')}`], { cause: error });
}

/** A daemon that is away is waited for: what was to be done may have failed because it died. */
export function persist<T>(
  machine: Pick<Machine, 'access' | 'hypervisors'>,
  step: (hypervisor: Hypervisor, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  let last: Error | undefined;
  const late = (): Fault => new Fault('deadline', last?.message ?? `it took longer than ${undoTimeout / 1_000} s.`);
  return within(undoTimeout, late, new AbortController().signal, async (signal) => {
    for (;;) {
      try {
        const hypervisor = await opened(hypervisorOf(machine, signal));
        return await step(hypervisor, signal);
      } catch (error) {
        if (!isLost(error) && !(error instanceof NotYet)) throw error;
        last = error as Error;
        await pause(retryPause, signal);
      }
    }
  });
}

class NotYet extends Fault {}

/** Whatever keeps a hypervisor from being opened may be over in a moment: through SSH nobody can tell. */
async function opened(opening: Promise<Hypervisor>): Promise<Hypervisor> {
  try {
    return await opening;
  } catch (error) {
    if (error instanceof Fault) throw new NotYet(error.kind, error.sentences, { cause: error });
    throw error;
  }
}
