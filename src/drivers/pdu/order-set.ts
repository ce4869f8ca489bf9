import { Fault } from '../../core/errors.ts';
import { onAbort, pause, unlessAborted } from '../../core/waiting.ts';
import { type Outlet, outletsNamed } from '../capabilities.ts';
import type { KnownOutlet, Pdu, PduTimes } from './outlets.ts';

const firstPause = 200;
const longestPause = 2_000;
/** After this an order that may have got lost, and has had no effect, is sent again, once. */
const resendAfter = 3_000;

/** What came of the outlets of all who wanted some switched. */
interface Outcome {
  readonly all: readonly KnownOutlet[];
  /** Those that did not go there. */
  readonly left: ReadonlySet<string>;
}

/** Outlets of a PDU that are switched together, for several who want one or more of them. */
export class OrderSet {
  readonly #pdu: Pdu;
  readonly #to: 'on' | 'off';
  readonly #timeout: number;
  readonly #wanted: (readonly string[] | 'all')[] = [];
  readonly #nobodyWaits = new AbortController();
  readonly #outcome: Promise<Outcome>;
  #waiting = 0;

  constructor(pdu: Pdu, to: 'on' | 'off', { powerTimeout }: Pick<PduTimes, 'powerTimeout'>) {
    this.#pdu = pdu;
    this.#to = to;
    this.#timeout = powerTimeout;
    this.#outcome = new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.#run());
  }

  /** Resolves when these have been seen in the wanted state. What is wrong with them is no matter of the others. */
  async add(ids: readonly string[] | 'all', signal: AbortSignal): Promise<readonly Outlet[]> {
    this.#wanted.push(ids);
    this.#waiting += 1;
    const leave = onAbort(signal, () => {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#nobodyWaits.abort(signal.reason);
    });
    try {
      const { all, left } = await unlessAborted(this.#outcome, signal);
      const chosen = switchable(all, ids);
      const late = chosen.flatMap(({ id }) => (left.has(id) ? [id] : []));
      if (late.length > 0) throw this.#lateFault(late);
      return chosen.map((outlet) => ({ ...outlet, state: this.#to }));
    } finally {
      leave();
    }
  }

  async #run(): Promise<Outcome> {
    const [pdu, to, { signal }] = [this.#pdu, this.#to, this.#nobodyWaits];
    const all = await pdu.outlets(false, signal);
    const left = new Map<string, KnownOutlet>();
    for (const ids of this.#wanted)
      for (const outlet of switchableOrNone(all, ids)) if (outlet.state !== to) left.set(outlet.id, outlet);
    let unsure = new Set(await pdu.order([...left.values()], to, signal));
    const began = performance.now();
    for (let wait = firstPause; left.size > 0; wait = Math.min(wait * 1.5, longestPause)) {
      await pause(wait, signal);
      for (const { id, state } of await pdu.outlets(false, signal)) if (state === to) left.delete(id);
      const passed = performance.now() - began;
      if (passed >= this.#timeout) break;
      if (unsure.size === 0 || passed < Math.min(resendAfter, this.#timeout / 2)) continue;
      const again = [...unsure].filter(({ id }) => left.has(id));
      unsure = new Set();
      await pdu.order(again, to, signal);
    }
    return { all, left: new Set(left.keys()) };
  }

  #lateFault(ids: readonly string[]): Fault {
    const named = ids.slice(0, 20).join(', ');
    return new Fault(
      'deadline',
      `outlet ${named} did not go ${this.#to} within ${this.#timeout / 1_000} s of the order. Read its state before you repeat the order.`,
    );
  }
}

function switchable(all: readonly KnownOutlet[], ids: readonly string[] | 'all'): readonly KnownOutlet[] {
  const chosen = outletsNamed(all, ids);
  const fixed = chosen.find((outlet) => outlet.fixed !== undefined);
  if (fixed) throw new Fault('invalid', `outlet ${fixed.id} cannot be switched: ${fixed.fixed}.`);
  return chosen;
}

/** Who wants one that there is not gets nothing switched, and hears so at the end. */
function switchableOrNone(all: readonly KnownOutlet[], ids: readonly string[] | 'all'): readonly KnownOutlet[] {
  try {
    return switchable(all, ids);
  } catch (error) {
    if (error instanceof Fault) return [];
    throw error;
  }
}
