import { parentPort, workerData } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';

const connection = new Sqlite(workerData as string, { readonly: true, timeout: 10_000 });
let verdict: string;
try {
  verdict = String(connection.pragma('quick_check(1)', { simple: true }));
} catch (error) {
  verdict = (error as Error).message;
} finally {
  connection.close();
}
parentPort!.postMessage(verdict);
