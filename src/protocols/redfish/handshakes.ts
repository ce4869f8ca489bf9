/** Handshakes that have just begun, over all services; a handshake takes a millisecond of processor time here, and more at many a BMC. */
const mostAtOnce = 64;
/** Milliseconds after which a handshake waits for its BMC and not for this process, so that it does not hold up the others. */
const countsFor = 250;

/**
 * Begins TLS handshakes in turn. A thousand that begin together all end together, and on a busy machine that is later than any of them is
 * waited for.
 */
export class Handshakes {
  readonly #waiting: (() => void)[] = [];
  #begun = 0;

  /** Calls back when it may begin, with what to call when it is over. */
  begin(start: (over: () => void) => void): void {
    const turn = (): void => {
      this.#begun++;
      let counts = true;
      const over = (): void => {
        if (!counts) return;
        counts = false;
        clearTimeout(timer);
        this.#begun--;
        this.#waiting.shift()?.();
      };
      const timer = setTimeout(over, countsFor);
      start(over);
    };
    if (this.#begun < mostAtOnce) turn();
    else this.#waiting.push(turn);
  }
}
