import type { Room } from '../../protocols/ssh/collected.ts';

const perUser = 128 * 1024 * 1024;

/** Bounds the bytes of output that are kept for one user at a time, by all commands whose replies are not sent yet. */
export class KeptOutput {
  readonly #limit: number;
  readonly #used = new Map<string, number>();

  constructor(limit = perUser) {
    this.#limit = limit;
  }

  /** Room for one command. `left` says when its reply is sent or its client has left; then it holds nothing any more. */
  until(left: AbortSignal, user: string): Room {
    let own = 0;
    left.addEventListener(
      'abort',
      () => {
        this.#add(user, -own);
        own = 0;
      },
      { once: true },
    );
    return {
      take: (bytes) => {
        const taken = left.aborted ? 0 : Math.min(bytes, this.#limit - (this.#used.get(user) ?? 0));
        own += taken;
        this.#add(user, taken);
        return taken;
      },
    };
  }

  #add(user: string, bytes: number): void {
    const used = (this.#used.get(user) ?? 0) + bytes;
    if (used > 0) this.#used.set(user, used);
    else this.#used.delete(user);
  }
}
