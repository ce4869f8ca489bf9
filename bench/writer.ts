/**
 * A server's store on PostgreSQL with writers that each change a row of their own, again as soon as the last change is committed. Waits
 * for a line, then prints how many were committed, and the milliseconds that no more than one of a hundred exceeded. Arguments: the URL, a name, writers, seconds.
 */
import { once } from 'node:events';
import { PostgresDatabase } from '../src/database/postgresql/postgresql.ts';
import { Store } from '../src/database/store.ts';

const [url = '', name = '', writers, seconds] = process.argv.slice(2);
const store = await Store.open(await PostgresDatabase.open({ url }));
const origin = { user: 'root', client: '', command: 'bench', run: '' };
const took: number[] = [];

async function write(key: string, until: number): Promise<void> {
  for (let value = 0; performance.now() < until; value++) {
    const began = performance.now();
    await store.change(origin, (head) => [
      { table: 'site', key, before: head.get('site', key), after: { key, value: String(value) } },
    ]);
    took.push(performance.now() - began);
  }
}

console.log('ready');
await once(process.stdin, 'data');
const until = performance.now() + Number(seconds) * 1_000;
await Promise.all(Array.from({ length: Number(writers) }, (_, i) => write(`${name}-${i}`, until)));
took.sort((a, b) => a - b);
console.log(JSON.stringify({ commits: took.length, slow: took[Math.floor(took.length * 0.99)] }));
await store.close();
process.stdin.unref();
