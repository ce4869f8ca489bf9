export interface Waiting {
  readonly user: string;
}

/** What all queues have until something waits: most devices never have more than one command at a time. */
const nobody = new Map<string, never[]>();

/** Users take turns; what waits for one user comes in its order. */
export class UserQueues<T extends Waiting> {
  /** In the order of the turns. */
  #users: Map<string, T[]> = nobody;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(one: T): void {
    if (this.#users === nobody) this.#users = new Map();
    const own = this.#users.get(one.user);
    if (own) own.push(one);
    else this.#users.set(one.user, [one]);
    this.#size++;
  }

  next(): T | undefined {
    if (this.#size === 0) return undefined;
    const [turn] = this.#users;
    if (!turn) return undefined;
    const [user, own] = turn;
    this.#users.delete(user);
    const one = own.shift()!;
    if (own.length > 0) this.#users.set(user, own);
    this.#size--;
    return one;
  }

  /** What comes next for each user. */
  heads(): T[] {
    return Array.from(this.#users.values(), ([first]) => first!);
  }

  /** Takes from the beginning of what each user has until something stays. */
  takeUntil(stays: (one: T) => boolean): T[] {
    const taken: T[] = [];
    for (const [user, own] of this.#users) {
      const position = own.findIndex(stays);
      taken.push(...own.splice(0, position < 0 ? own.length : position));
      if (own.length === 0) this.#users.delete(user);
    }
    this.#size -= taken.length;
    return taken;
  }

  remove(one: T): boolean {
    const own = this.#users.get(one.user);
    const position = own?.indexOf(one) ?? -1;
    if (!own || position < 0) return false;
    own.splice(position, 1);
    if (own.length === 0) this.#users.delete(one.user);
    this.#size--;
    return true;
  }

  /** Takes the last of whoever has most, if that is more than the user would have with one more. */
  makeRoomFor(user: string): T | undefined {
    let most: T[] = [];
    for (const own of this.#users.values()) if (own.length > most.length) most = own;
    if (most.length <= (this.#users.get(user)?.length ?? 0) + 1) return undefined;
    this.#size--;
    return most.pop();
  }

  takeAll(): T[] {
    const all = [...this.#users.values()].flat();
    this.#users.clear();
    this.#size = 0;
    return all;
  }
}
