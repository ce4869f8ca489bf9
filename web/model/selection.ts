// The node range that the box at the top says, and what it selects.
import { get, inPath, Refusal } from '../api/client.ts';
import { requests } from '../texts/common.ts';
import { Store } from './store.ts';

interface Selection {
  readonly range: string;
  readonly names: ReadonlySet<string>;
  readonly state: 'none' | 'reading' | 'known' | 'wrong';
  readonly error?: string;
}

const none: Selection = { range: '', names: new Set(), state: 'none' };
export const selection = new Store<Selection>(none);

let asked: AbortController | undefined;

/** `names`: what it selects, where that is known already. */
export function select(range: string, names?: Iterable<string>): void {
  asked?.abort();
  if (range.trim() === '') return selection.set(none);
  if (names) return selection.set({ range, names: new Set(names), state: 'known' });
  selection.set({ range, names: selection.value.names, state: 'reading' });
  const mine = (asked = new AbortController());
  setTimeout(() => void find(range, mine.signal), 140);
}

async function find(range: string, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  try {
    const names = await get<readonly string[]>(`/nodes/${inPath(range)}/nodels`, signal);
    selection.set({ range, names: new Set(names), state: 'known' });
  } catch (error) {
    if (signal.aborted) return;
    const sentence = error instanceof Refusal ? error.message : requests.badRange;
    selection.set({ range, names: new Set(), state: 'wrong', error: sentence });
  }
}

const key = 'muster-selections';

function stored(): readonly string[] {
  try {
    const read: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(read) ? read.filter((each) => typeof each === 'string') : [];
  } catch {
    return [];
  }
}

/** Kept by this browser. */
export const saved = new Store(stored());

export function save(range: string): void {
  saved.set([range, ...saved.value.filter((known) => known !== range)].slice(0, 20));
  localStorage.setItem(key, JSON.stringify(saved.value));
}

export function forget(range: string): void {
  saved.set(saved.value.filter((known) => known !== range));
  localStorage.setItem(key, JSON.stringify(saved.value));
}
