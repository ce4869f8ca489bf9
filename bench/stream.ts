import { Agent, request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { root, type Muster } from './server.ts';

export interface Streamed {
  readonly values: number;
  readonly errors: number;
  /** Milliseconds until the last node that answered, and until the end. */
  readonly lastValue: number;
  readonly whole: number;
}

/** One kept connection that asks for the power of a group and notes when the lines of the answer come. */
export function powerStream(muster: Muster): { ask(group: string): Promise<Streamed>; close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  const headers = { 'X-Auth-Token': muster.token, Accept: 'application/x-ndjson' };
  return {
    async ask(group) {
      const began = performance.now();
      const path = `${root}/nodes/${group}/power`;
      const sent = request({ host: '127.0.0.1', port: muster.port, path, headers, agent }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      let [values, errors, lastValue, rest] = [0, 0, 0, ''];
      for await (const chunk of response.setEncoding('utf8')) {
        const now = performance.now() - began;
        const lines = (rest + chunk).split('\n');
        rest = lines.pop()!;
        for (const line of lines) {
          if (line.includes('"error":')) errors++;
          if (!line.includes('"value":')) continue;
          values++;
          lastValue = now;
        }
      }
      return { values, errors, lastValue, whole: performance.now() - began };
    },
    close: () => agent.destroy(),
  };
}
