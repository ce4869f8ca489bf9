/**
 * An immutable map from text to values, sorted by key. Changed copies share all blocks they did not touch: a write costs the same in
 * any table, readers keep the version they began with, and two versions are compared by their blocks.
 */
const blockSize = 128;

interface Block<V> {
  readonly keys: readonly string[];
  readonly values: readonly V[];
}

export class SortedMap<V> {
  readonly #blocks: readonly Block<V>[];
  readonly size: number;

  private constructor(blocks: readonly Block<V>[], size: number) {
    this.#blocks = blocks;
    this.size = size;
  }

  static readonly #empty = new SortedMap<never>([], 0);

  static empty<V>(): SortedMap<V> {
    return SortedMap.#empty;
  }

  /** The keys must be sorted and unique. */
  static fromSorted<V>(keys: readonly string[], values: readonly V[]): SortedMap<V> {
    const blocks: Block<V>[] = [];
    pushBlocks(blocks, keys, values);
    return new SortedMap(blocks, keys.length);
  }

  static fromEntries<V>(entries: Iterable<readonly [string, V]>): SortedMap<V> {
    return SortedMap.empty<V>().with(new Map(entries));
  }

  get(key: string): V | undefined {
    const block = this.#blocks[this.#blockIndex(key)];
    if (!block) return undefined;
    const index = lowerBound(block.keys, key);
    return block.keys[index] === key ? block.values[index] : undefined;
  }

  has(key: string): boolean {
    const block = this.#blocks[this.#blockIndex(key)];
    return block !== undefined && block.keys[lowerBound(block.keys, key)] === key;
  }

  *entries(): IterableIterator<[string, V]> {
    for (const { keys, values } of this.#blocks) {
      for (let i = 0; i < keys.length; i++) yield [keys[i]!, values[i]!];
    }
  }

  /** The same without a pair for each, which is much faster where there are many. */
  forEach(work: (value: V, key: string) => void): void {
    for (const { keys, values } of this.#blocks) {
      for (let i = 0; i < keys.length; i++) work(values[i]!, keys[i]!);
    }
  }

  keys(): string[] {
    return this.#blocks.flatMap((block) => block.keys);
  }

  /** The keys of those values that pass. */
  keysWhere(passes: (value: V) => boolean): string[] {
    const keys: string[] = [];
    this.forEach((value, key) => void (passes(value) && keys.push(key)));
    return keys;
  }

  values(): V[] {
    return this.#blocks.flatMap((block) => block.values);
  }

  /** The values whose key begins with `prefix`. */
  startingWith(prefix: string): V[] {
    const found: V[] = [];
    for (let b = this.#blockIndex(prefix); b < this.#blocks.length; b++) {
      const { keys, values } = this.#blocks[b]!;
      for (let i = lowerBound(keys, prefix); i < keys.length; i++) {
        if (!keys[i]!.startsWith(prefix)) return found;
        found.push(values[i]!);
      }
    }
    return found;
  }

  /** A copy in which the given keys have the given values; undefined removes the key. */
  with(changes: ReadonlyMap<string, V | undefined>): SortedMap<V> {
    if (changes.size > 1) return this.#merged(changes);
    for (const [key, value] of changes) return this.withOne(key, value);
    return this;
  }

  #merged(changes: ReadonlyMap<string, V | undefined>): SortedMap<V> {
    const sorted = [...changes.keys()].sort(byText);
    const blocks: Block<V>[] = [];
    let copied = 0;
    let size = this.size;
    for (let next = 0; next < sorted.length; ) {
      const at = this.#blockIndex(sorted[next]!);
      for (; copied < at; copied++) blocks.push(this.#blocks[copied]!);
      const limit = this.#blocks[at + 1]?.keys[0];
      let end = next + 1;
      while (end < sorted.length && (limit === undefined || sorted[end]! < limit)) end++;
      const old = this.#blocks[at];
      const merged = mergeBlock(old, sorted, next, end, changes);
      size += merged.keys.length - (old?.keys.length ?? 0);
      pushBlocks(blocks, merged.keys, merged.values);
      copied = at + 1;
      next = end;
    }
    for (; copied < this.#blocks.length; copied++) blocks.push(this.#blocks[copied]!);
    return new SortedMap(blocks, size);
  }

  /** The same for one key. Another value for one that is there is what most writes need, so it copies as little as possible. */
  withOne(key: string, value: V | undefined): SortedMap<V> {
    const at = this.#blockIndex(key);
    const block = this.#blocks[at];
    const keys = block?.keys ?? [];
    const index = lowerBound(keys, key);
    if (value === undefined || !block || keys[index] !== key) return this.#merged(new Map([[key, value]]));
    const values = block.values.slice();
    values[index] = value;
    const blocks = this.#blocks.slice();
    blocks[at] = { keys, values };
    return new SortedMap(blocks, this.size);
  }

  /** The keys whose value differs between the two maps. Shared blocks are skipped without a look inside. */
  static changedKeys<V>(before: SortedMap<V>, after: SortedMap<V>): string[] {
    if (before === after) return [];
    if (before.size === 0) return after.keys();
    const left = before.#blocks;
    const right = after.#blocks;
    const gone = new Map<string, V>();
    const come = new Map<string, V>();
    let i = 0;
    let j = 0;
    while (i < left.length || j < right.length) {
      const a = left[i];
      const b = right[j];
      if (a === b) {
        i++;
        j++;
      } else if (b === undefined || (a !== undefined && a.keys[0]! <= b.keys[0]!)) {
        collect(a!, gone);
        i++;
        // A block that was split or merged: its counterpart begins at the same key and differs, so take it in the same step.
        if (b !== undefined && a!.keys[0] === b.keys[0]) {
          collect(b, come);
          j++;
        }
      } else {
        collect(b, come);
        j++;
      }
    }
    const changed: string[] = [];
    for (const [key, value] of gone) if (come.get(key) !== value || !come.has(key)) changed.push(key);
    for (const key of come.keys()) if (!gone.has(key)) changed.push(key);
    return changed;
  }

  /** Index of the block that holds or would hold the key. */
  #blockIndex(key: string): number {
    const blocks = this.#blocks;
    let low = 0;
    let high = blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (blocks[middle]!.keys[0]! <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Where the key is in a sorted list, or would be. */
export function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function collect<V>(block: Block<V>, into: Map<string, V>): void {
  for (let i = 0; i < block.keys.length; i++) into.set(block.keys[i]!, block.values[i]!);
}

function pushBlocks<V>(blocks: Block<V>[], keys: readonly string[], values: readonly V[]): void {
  if (keys.length === 0) return;
  if (keys.length <= 2 * blockSize) {
    const previous = blocks.at(-1);
    if (previous && previous.keys.length + keys.length <= blockSize / 2) {
      blocks[blocks.length - 1] = { keys: [...previous.keys, ...keys], values: [...previous.values, ...values] };
    } else blocks.push({ keys, values });
    return;
  }
  for (let from = 0; from < keys.length; from += blockSize) {
    blocks.push({ keys: keys.slice(from, from + blockSize), values: values.slice(from, from + blockSize) });
  }
}

function mergeBlock<V>(
  old: Block<V> | undefined,
  sorted: readonly string[],
  from: number,
  to: number,
  changes: ReadonlyMap<string, V | undefined>,
): { keys: string[]; values: V[] } {
  const keys: string[] = [];
  const values: V[] = [];
  const length = old?.keys.length ?? 0;
  let i = 0;
  for (let c = from; c < to; c++) {
    const key = sorted[c]!;
    for (; i < length && old!.keys[i]! < key; i++) {
      keys.push(old!.keys[i]!);
      values.push(old!.values[i]!);
    }
    if (i < length && old!.keys[i] === key) i++;
    const value = changes.get(key);
    if (value !== undefined) {
      keys.push(key);
      values.push(value);
    }
  }
  for (; i < length; i++) {
    keys.push(old!.keys[i]!);
    values.push(old!.values[i]!);
  }
  return { keys, values };
}
