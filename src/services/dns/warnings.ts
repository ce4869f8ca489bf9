const maximum = 200;

/** Collects messages, each once, and so many that a reader can use them. */
export class Warnings {
  readonly #texts: Set<string>;

  constructor(texts: Iterable<string> = []) {
    this.#texts = new Set(texts);
  }

  readonly add = (text: string): void => {
    this.#texts.add(text);
  };

  list(): string[] {
    const texts = [...this.#texts];
    const more = texts.length - maximum;
    return more > 0 ? [...texts.slice(0, maximum), `${more} more messages are left out.`] : texts;
  }
}
