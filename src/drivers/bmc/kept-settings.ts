import { Fault, Unreachable } from '../../core/errors.ts';

/** A setting that was made: what it should be, and how it is looked at. */
export interface Check {
  readonly attribute: string;
  readonly wanted: string;
  /** Its value is not repeated. */
  readonly hidden?: boolean;
  /** Undefined if the hardware does not report it. */
  read(signal: AbortSignal): Promise<string | undefined>;
  /** Whether what is shown is what was wanted; absent: if it is the same text. */
  isSame?(shown: string): boolean;
}

type Pause = (milliseconds: number, signal: AbortSignal) => Promise<void>;

/** Some hardware takes a moment before it shows what was set. */
const pauses: readonly number[] = [0, 200, 800];

/** Hardware may accept a setting and not keep it: reads back what was set; a Fault names every setting that was not kept. */
export async function verifyKept(checks: readonly Check[], pause: Pause, signal: AbortSignal): Promise<void> {
  const problems: string[] = [];
  for (const check of checks) {
    const { attribute, wanted, hidden } = check;
    const shown = await differing(check, pause, signal);
    if (shown === undefined) continue;
    const found = hidden ? '' : `: wanted "${wanted}", found "${shown}"`;
    problems.push(`its BMC accepted ${attribute} but did not keep it${found}.`);
  }
  if (problems.length > 0) throw new Fault('invalid', problems);
}

/** What is shown instead, if anything. */
async function differing(check: Check, pause: Pause, signal: AbortSignal): Promise<string | undefined> {
  let shown: string | undefined;
  for (const wait of pauses) {
    if (wait > 0) await pause(wait, signal);
    shown = await look(check, signal);
    if (shown === undefined || shown === check.wanted || check.isSame?.(shown)) return undefined;
  }
  return shown;
}

/** What the hardware refuses to report is believed. */
async function look(check: Check, signal: AbortSignal): Promise<string | undefined> {
  try {
    return await check.read(signal);
  } catch (error) {
    if (!(error instanceof Fault) || signal.aborted) throw error;
    const silent = error instanceof Unreachable || error.kind === 'deadline' || error.kind === 'unavailable';
    if (!silent) return undefined;
    const setting = check.hidden ? check.attribute : `${check.attribute} "${check.wanted}"`;
    const sentence = `its BMC accepted ${setting} but has not answered since; it is unknown whether it kept it.`;
    throw new Fault('deadline', sentence, { cause: error });
  }
}

/** Something went wrong after a BMC has moved to its new address, where it answers. */
export class MovedFault extends Fault {
  constructor(cause: Fault) {
    super(cause.kind, cause.sentences, { cause });
  }
}

/** A Fault says too which settings of the same call had been set by then. */
export async function sayingWhatIsDone<T>(done: readonly string[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Fault) || done.length === 0) throw error;
    const sentences = [...error.sentences, `Before that, ${done.join(', ')} had been set.`];
    const told = new Fault(error.kind, sentences, { cause: error });
    throw error instanceof MovedFault ? new MovedFault(told) : told;
  }
}
