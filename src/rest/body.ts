import type { IncomingMessage } from 'node:http';
import { Fault } from '../core/errors.ts';

const maximumDepth = 32;

/** Reads a body up to the limit. What comes after is left for the server to discard. */
export function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) {
        request.removeAllListeners('data');
        reject(bodyTooLarge(limit));
      } else chunks.push(chunk);
    });
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    const cut = (): void => {
      if (!request.complete) reject(new Fault('malformed', 'The request ended before its body was complete.'));
    };
    request.on('error', cut);
    request.on('close', cut);
  });
}

export const bodyTooLarge = (limit: number): Fault => new Fault('too-large', `The body is larger than ${limit} bytes.`);

/** The body as a JSON object; an absent one is an empty object. */
export function parseBody(bytes: Buffer): Record<string, unknown> {
  if (bytes.length === 0) return {};
  checkDepth(bytes);
  let value: unknown;
  try {
    value = JSON.parse(decodeUtf8(bytes));
  } catch (error) {
    if (error instanceof Fault) throw error;
    // The engine's message goes on with a piece of the text, which may be a password.
    const [reason] = (error as Error).message.split(/, (?:\.\.\.)?"/, 1);
    throw new Fault('malformed', `The body is not JSON: ${reason}.`);
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new Fault('malformed', 'The body must be a JSON object such as {"groups":"all"}.');
  }
  return value as Record<string, unknown>;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodeUtf8(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Fault('malformed', 'The body is not UTF-8 text.');
  }
}

/** Looks at brackets outside strings only, so that nesting is bounded before anything is built. */
function checkDepth(bytes: Buffer): void {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (inString) {
      if (byte === 0x5c) i++;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > maximumDepth)
        throw new Fault('too-large', `The body is nested deeper than ${maximumDepth} levels.`);
    } else if (byte === 0x5d || byte === 0x7d) depth--;
  }
}
