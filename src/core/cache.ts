/** Makes something of each object once; it is forgotten with the object. */
export function cachedBy<Key extends object, Value>(make: (key: Key) => Value & {}): (key: Key) => Value & {} {
  const cache = new WeakMap<Key, Value & {}>();
  return (key) => {
    let value = cache.get(key);
    if (value === undefined) cache.set(key, (value = make(key)));
    return value;
  };
}

/** The same of texts; of more than `size` the oldest is forgotten. */
export function cachedByText<Value>(size: number, make: (key: string) => Value & {}): (key: string) => Value & {} {
  const cache = new Map<string, Value & {}>();
  return (key) => {
    const cached = cache.get(key);
    if (cached !== undefined) return cached;
    const made = make(key);
    if (cache.size >= size) cache.delete(cache.keys().next().value!);
    cache.set(key, made);
    return made;
  };
}
