import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { guardLines } from './guarded-response.ts';
import { jsonType } from './reply.ts';

export const maximumHeaders = 81_920;

type Answer = readonly [status: string, sentence: string, errorcode: number];
const notHttp: Answer = ['400 Bad Request', 'The request is not valid HTTP.', 2];
const answers: Readonly<Record<string, Answer>> = {
  HPE_HEADER_OVERFLOW: ['400 Bad Request', `The headers are larger than ${maximumHeaders} bytes.`, 2],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request was not sent in time.', 4],
};

function replyOf([status, sentence, errorcode]: Answer): string {
  const body = `${JSON.stringify({ error: [sentence], errorcode })}\n`;
  const head = `Content-Type: ${jsonType}\r\nContent-Length: ${body.length}\r\nConnection: close`;
  return `HTTP/1.1 ${status}\r\n${guardLines}${head}\r\n\r\n${body}`;
}

/** For those who speak without TLS to the port. */
export const plainHttpAnswer = replyOf(['400 Bad Request', 'This port speaks HTTPS: begin the URL with https://.', 2]);

/** How long a client that was answered may go on sending what nobody reads. */
const lingerTimeout = 2_000;
const answered = new WeakSet<Socket>();

/** Answers what is not even HTTP, comes too slowly or has headers beyond the limit in the form of every other error. */
export function answerBrokenRequest(
  error: Error & { code?: string },
  socket: Socket & { _httpMessage?: ServerResponse },
): void {
  // More of the same request: closing the connection on it now would lose the answer.
  if (answered.has(socket)) return;
  // Before the handshake is done nothing can be said.
  const unheard = error.code === 'ECONNRESET' || /^ERR_(TLS|SSL)_/.test(error.code ?? '');
  // What would be written into a reply under way would garble it.
  // oxlint-disable-next-line no-underscore-dangle -- node tells of the reply in no other way
  if (unheard || !socket.writable || socket._httpMessage?.headersSent) {
    socket.destroy();
    return;
  }
  answered.add(socket);
  socket.end(replyOf(answers[error.code ?? ''] ?? notHttp));
  const timer = setTimeout(() => socket.destroy(), lingerTimeout).unref();
  socket.once('close', () => clearTimeout(timer));
}
