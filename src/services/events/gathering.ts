import type { Happening } from './view.ts';

/** Milliseconds that power states and progress are gathered for. */
const delay = 200;

/** Gathers what comes often: of a while the latest is told. */
export class Gathering {
  readonly #tell: (happening: Happening) => void;
  /** Nodes by what their power is. */
  #power = new Map<string, Set<string>>();
  /** By run. */
  #progress = new Map<string, () => Happening>();
  #timer: NodeJS.Timeout | undefined;

  constructor(tell: (happening: Happening) => void) {
    this.#tell = tell;
  }

  power(node: string, power: string): void {
    for (const nodes of this.#power.values()) nodes.delete(node);
    let nodes = this.#power.get(power);
    if (!nodes) this.#power.set(power, (nodes = new Set()));
    nodes.add(node);
    this.#start();
  }

  progress(run: string, now: () => Happening): void {
    if (!this.#progress.has(run)) this.#progress.set(run, now);
    this.#start();
  }

  /** Its progress is told otherwise. */
  forgetRun(run: string): void {
    this.#progress.delete(run);
  }

  flush(): void {
    const [power, progress] = [this.#power, this.#progress];
    this.clear();
    for (const [state, nodes] of power)
      if (nodes.size > 0) this.#tell({ what: 'power', time: Date.now(), nodes: [...nodes], power: state });
    for (const now of progress.values()) this.#tell(now());
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#power = new Map();
    this.#progress = new Map();
  }

  #start(): void {
    this.#timer ??= setTimeout(() => this.flush(), delay).unref();
  }
}
