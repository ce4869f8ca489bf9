/** Another client: asks for the health of a server again and again from a process of its own, and tells how long that took. */
import { setTimeout as wait } from 'node:timers/promises';
import { Connection } from './client.ts';
import { median, quantile } from './report.ts';

export type ProbeMessage = { readonly port: number } | 'begin' | 'end';

/** In milliseconds. */
export interface Latencies {
  readonly median: number;
  readonly p99: number;
  readonly worst: number;
}

const pause = 2;
let connection: Connection;
let taken: number[] = [];
let going = false;
let loop = Promise.resolve();

async function measure(): Promise<void> {
  while (going) {
    taken.push((await connection.send({ path: '/muster/health' })).took);
    await wait(pause);
  }
}

async function answer(message: ProbeMessage): Promise<Latencies | 'ready'> {
  if (message === 'begin') {
    going = true;
    taken = [];
    loop = measure();
    return 'ready';
  }
  if (message === 'end') {
    going = false;
    await loop;
    return { median: median(taken), p99: quantile(taken, 0.99), worst: Math.max(...taken) };
  }
  connection = await Connection.open(message.port);
  return 'ready';
}

process.on('message', (message: ProbeMessage) => void answer(message).then((reply) => process.send!(reply)));
