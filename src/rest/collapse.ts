/** Objects with equal content under one key: their names, sorted and joined by commas. */
export function collapse(objects: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const byContent = new Map<string, { names: string[]; value: unknown }>();
  for (const [name, value] of objects) {
    const content = JSON.stringify(sorted(value));
    const same = byContent.get(content);
    if (same) same.names.push(name);
    else byContent.set(content, { names: [name], value });
  }
  return Object.fromEntries([...byContent.values()].map(({ names, value }) => [names.sort().join(','), value]));
}

function sorted(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}
