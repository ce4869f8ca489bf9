/** Remembers `make(key)` for up to `size` keys; the oldest entry goes first. */
export function remembered<T extends object>(size: number, make: (key: string) => T): (key: string) => T {
  const entries = new Map<string, T>();
  return (key) => {
    const known = entries.get(key);
    if (known !== undefined) return known;
    const made = make(key);
    if (entries.size >= size) {
      const oldest = entries.keys().next();
      if (!oldest.done) entries.delete(oldest.value);
    }
    entries.set(key, made);
    return made;
  };
}
