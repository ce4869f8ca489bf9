/** As many are put in order before it is looked whether the same ones come again. */
const firstLook = 4_096;
/** With fewer different ones among those added, hashing pays. */
const fewDifferent = 0.75;

/** A set of names. A million different ones are sorted faster than hashed, repeated ones are not: a list that becomes a set when many repeat. */
export class Names {
  #list: string[] = [];
  #isOrdered = true;
  #set: Set<string> | undefined;
  #nextLook = firstLook;

  /** The names must be in order and different. */
  static ordered(list: string[]): Names {
    const names = new Names();
    names.#list = list;
    return names;
  }

  get isEmpty(): boolean {
    return this.#set === undefined && this.#list.length === 0;
  }

  get size(): number {
    return this.#set?.size ?? this.list().length;
  }

  add(name: string): void {
    if (this.#set) {
      this.#set.add(name);
      return;
    }
    // Sequences are made in order as a rule.
    if (this.#isOrdered && this.#list.length > 0) this.#isOrdered = this.#list.at(-1)! < name;
    if (this.#list.push(name) < this.#nextLook) return;
    this.#look();
  }

  /** Whether there are more different ones. */
  exceeds(limit: number): boolean {
    if (this.#set) return this.#set.size > limit;
    return this.#list.length > limit && this.size > limit;
  }

  /** In byte order, each once. */
  list(): string[] {
    if (this.#set) return [...this.#set].sort();
    if (!this.#isOrdered) this.#order();
    return this.#list;
  }

  intersection(others: Names): Names {
    return this.#those(others, true);
  }

  difference(others: Names): Names {
    return this.#those(others, false);
  }

  /** Those that are, or are not, among the others. */
  #those(others: Names, among: boolean): Names {
    const list = others.list();
    const found: string[] = [];
    let at = 0;
    for (const name of this.list()) {
      while (at < list.length && list[at]! < name) at++;
      if ((list[at] === name) === among) found.push(name);
    }
    return Names.ordered(found);
  }

  #look(): void {
    const added = this.#list.length;
    this.#order();
    this.#nextLook = Math.max(firstLook, 2 * this.#list.length);
    if (this.#list.length < fewDifferent * added) {
      this.#set = new Set(this.#list);
      this.#list = [];
    }
  }

  #order(): void {
    const list = this.#list.sort();
    let different = 0;
    for (const name of list) if (different === 0 || name !== list[different - 1]) list[different++] = name;
    list.length = different;
    this.#isOrdered = true;
  }
}
