import { useEffect, useState } from 'preact/hooks';

/** A value that pages look at and hear of. Many changes in one turn are one. */
export class Store<T> {
  #value: T;
  readonly #listeners = new Set<() => void>();
  #isWaiting = false;

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    this.#value = value;
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    requestAnimationFrame(() => {
      this.#isWaiting = false;
      for (const listener of this.#listeners) listener();
    });
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

export function useStore<T>(store: Store<T>): T {
  const [, setTurn] = useState(0);
  const { value } = store;
  useEffect(() => {
    const look = (): void => setTurn((turn) => turn + 1);
    // Effects run after the page is drawn: it may have changed meanwhile.
    if (store.value !== value) look();
    return store.subscribe(look);
  }, [store]);
  return value;
}
