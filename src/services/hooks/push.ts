import { createHmac, randomUUID } from 'node:crypto';
import { request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { ReceiverGuard } from './receiver-guard.ts';

export interface Push {
  readonly url: string;
  readonly secret: string | undefined;
  readonly body: string;
  readonly guard: ReceiverGuard;
  readonly ca: readonly string[] | undefined;
  readonly milliseconds: number;
}

/** The signature covers the time, so that an old push cannot be sent again unnoticed. */
export const signature = (secret: string, time: number, body: string): string =>
  `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`;

/** Resolves when the receiver has taken it; nobody is followed to another place. */
export function push({ url, secret, body, guard, ca, milliseconds }: Push): Promise<void> {
  const target = new URL(url);
  guard.checkHost(target.hostname);
  const time = Math.floor(Date.now() / 1_000);
  const headers: Record<string, string | number> = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'User-Agent': 'muster',
    'X-Muster-Delivery': randomUUID(),
    ...(secret === undefined ? {} : { 'X-Muster-Signature': signature(secret, time, body) }),
  };
  const options = { method: 'POST', headers, lookup: guard.lookup, agent: false as const };
  return new Promise((resolve, reject) => {
    const sending =
      target.protocol === 'https:'
        ? secureRequest(target, { ...options, ...(ca ? { ca: [...ca] } : {}) })
        : plainRequest(target, options);
    const late = setTimeout(
      () => sending.destroy(new Error(`the receiver did not answer within ${milliseconds / 1_000} s`)),
      milliseconds,
    );
    sending.once('response', (response) => {
      const { statusCode = 0 } = response;
      // What it has to say is of no interest, and may be long.
      response.destroy();
      if (statusCode >= 200 && statusCode < 300) resolve();
      else reject(new Error(`the receiver answered with status ${statusCode}`));
    });
    sending.on('error', reject);
    sending.once('close', () => clearTimeout(late));
    sending.end(body);
  });
}
