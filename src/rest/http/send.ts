import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { Answer, EventStream } from '../../commands/command.ts';
import { matchesTag } from '../../core/entity-tag.ts';
import type { NodeResult } from '../../core/results.ts';
import type { WorkUnderWay } from '../../dispatch/long.ts';
import type { DryRun, Outcome, Request } from '../../dispatch/request.ts';
import { withoutUrlSecrets } from '../../objects/secret-names.ts';
import { type Body, bodyOf, drained, slice, withDebug } from './body-writer.ts';
import { entityTag, lenient, prefers, respondAsync } from './entity-tags.ts';
import type { HttpRequest } from './request-log.ts';
import { collectLenient, collectStream, streamOutcome, streamWork } from './ndjson.ts';
import type { CommonParameters } from './parameters.ts';
import { jsonType, sendBody } from './reply.ts';
import { sessionCookie } from './session-cookie.ts';
import { becomeWebSocket } from './web-sockets.ts';
import type { Route } from '../endpoints/endpoint.ts';

/** Milliseconds that a client has to take the last that it is sent. */
const lastWords = 5_000;

/** Sends a client what happens until it leaves or is left. */
function sendEvents(
  response: ServerResponse,
  headers: Record<string, string | number>,
  { listen }: EventStream,
): Promise<void> | undefined {
  // Proxies must not gather what is meant for now.
  const all = { ...headers, 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' };
  if (response.req.method === 'HEAD') {
    response.writeHead(200, all);
    response.end();
    return undefined;
  }
  return listen(() => {
    response.writeHead(200, all);
    return {
      write: (bytes) => response.destroyed || response.write(bytes),
      onDrain: (callback) => response.on('drain', callback),
      onClose(callback) {
        if (response.destroyed) queueMicrotask(callback);
        else response.once('close', callback);
      },
      end(bytes) {
        response.end(bytes);
        setTimeout(() => response.destroy(), lastWords).unref();
      },
    };
  });
}

interface Sending {
  readonly route: Route;
  readonly request: HttpRequest;
  readonly response: ServerResponse;
  readonly headers: Record<string, string | number>;
  readonly outcome: Outcome;
  readonly common: CommonParameters;
  readonly call: Request;
  readonly isLenient?: boolean;
}

/** What it returns must be awaited; a short reply that can be made at once returns nothing. */
export function send(sending: Sending, ndjson: boolean): Promise<void> | undefined {
  const { route, request, response, headers, outcome, common, call } = sending;
  const { answer } = outcome;
  if (call.detached) {
    if (answer.shape === 'stream') goOn(sending, answer.results);
    return sendBegun(sending);
  }
  if (answer.shape === 'work') return sendWork(sending, answer, ndjson);
  if (answer.shape === 'events') return sendEvents(response, headers, answer);
  if (answer.shape === 'console') return answer.enter(becomeWebSocket(response, headers));
  if (answer.shape === 'text') {
    headers['Content-Type'] = answer.type;
    sendBody(response, 200, headers, answer.text);
    return undefined;
  }
  if (ndjson) {
    beginStream(sending);
    return streamOutcome(response, { ...outcome, answer }, route.services.catalog, common);
  }
  if (answer.shape !== 'stream') return sendAnswer(sending, answer);
  if (route.root.canBeLenient && prefers(request.headers['prefer'], lenient)) {
    headers['Preference-Applied'] = lenient;
    return collectLenient(answer.results).then((collected) =>
      sendCollected({ ...sending, isLenient: true }, collected),
    );
  }
  return collectStream(answer.results, route.endpoint, route.root).then((collected) =>
    sendCollected(sending, collected),
  );
}

/** Nobody should take a part for the whole. */
function sendCollected(sending: Sending, collected: Answer): Promise<void> | undefined {
  const { cut, nodes } = sending.outcome.run;
  if (cut)
    sending.headers['X-Muster-Note'] =
      `Output was cut on ${cut} of ${nodes} nodes; their last lines say by how much. With Accept: application/x-ndjson all of it comes.`;
  return sendAnswer(sending, collected);
}

const statusOf = ({ route: { endpoint }, common, isLenient }: Sending): number =>
  endpoint.method === 'POST' && !common.dryRun && !isLenient ? 201 : 200;

const beginStream = (sending: Sending): unknown =>
  sending.response.writeHead(statusOf(sending), { ...sending.headers, 'Content-Type': 'application/x-ndjson' });

/** The run shows what comes of it. */
function sendBegun({ route, response, headers, outcome }: Sending): undefined {
  headers['Location'] = `${route.root.prefix}/runs/${outcome.run.id}`;
  headers['Preference-Applied'] = respondAsync;
  sendBody(response, 202, headers, '');
}

/** Results are noted in the run as they come; nobody else looks at them. */
function goOn({ route, call }: Sending, results: AsyncIterable<readonly NodeResult[]>): void {
  const noted = async (): Promise<void> => {
    const each = results[Symbol.asyncIterator]();
    while (!(await each.next()).done);
  };
  noted().catch((error: unknown) =>
    route.services.log.error({ err: error, request: call.id }, 'work on nodes broke off'),
  );
}

/** Long work goes on whether or not its client waits, so a client that leaves is not waited for either. */
async function sendWork(sending: Sending, work: WorkUnderWay, ndjson: boolean): Promise<void> {
  const { route, response, headers, outcome, call, common } = sending;
  const left = call.signal();
  if (ndjson) {
    beginStream(sending);
    return streamWork(response, outcome.run, work, left, route.services.catalog, common);
  }
  const done = await Promise.race([work.ended, abortOf(left)]);
  if (!done) return;
  headers['X-Muster-Revision'] = done.revision;
  return sendAnswer({ ...sending, outcome: { ...outcome, ...done } }, done.answer);
}

const abortOf = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });

function sendAnswer(sending: Sending, answer: Answer | DryRun): Promise<void> | undefined {
  const { route, request, response, headers, outcome, common } = sending;
  if ('dependsOn' in answer && answer.dependsOn) {
    const tag = entityTag(outcome.snapshot, answer.dependsOn, common);
    headers['ETag'] = tag;
    headers['Cache-Control'] = 'private, no-cache';
    if (matchesTag(request.headers['if-none-match'], tag)) {
      response.writeHead(304, headers);
      response.end();
      return undefined;
    }
  }
  if ('session' in answer && answer.session) headers['Set-Cookie'] = sessionCookie(answer.session);
  const body = bodyOf(answer, outcome.snapshot, route.services.catalog, common);
  const more = 'messages' in answer ? (answer.messages ?? []) : [];
  return body instanceof Promise ? body.then((made) => sendMade(sending, made, more)) : sendMade(sending, body, more);
}

function sendMade(sending: Sending, made: Body, more: readonly string[]): Promise<void> | undefined {
  const { request, response, headers, outcome, common, call } = sending;
  const messages = (): string[] => [
    `request ${request.id}`,
    [call.command.name, ...call.words.map(withoutUrlSecrets)].join(' ').trim(),
    `run ${outcome.run.id}`,
    `revision ${outcome.revision}`,
    ...more,
  ];
  const body = common.debug ? withDebug(made, messages(), common) : made;
  headers['Content-Type'] = jsonType;
  if (typeof body !== 'string') return sendLongBody(response, statusOf(sending), headers, body);
  sendBody(response, statusOf(sending), headers, body);
  return undefined;
}

/** Sends a body in pieces, as fast as the client takes it. Encryption takes time too, so others get their turn in between. */
export async function sendLongBody(
  response: ServerResponse,
  status: number,
  headers: Record<string, string | number>,
  pieces: readonly Buffer[],
): Promise<void> {
  if (response.destroyed) return;
  headers['Content-Length'] = pieces.reduce((sum, piece) => sum + piece.length, 0);
  response.writeHead(status, headers);
  let began = performance.now();
  for (const piece of pieces) {
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
    if (performance.now() - began > slice) {
      await setImmediate();
      began = performance.now();
    }
  }
  response.end();
}
