import type { FastifyRequest } from 'fastify';
import type { ServerResponse } from 'node:http';
import type { Answer } from '../commands/command.ts';
import type { DryRun, Outcome } from '../dispatch/dispatch.ts';
import { bodyOf, withDebug } from './body-writer.ts';
import type { Endpoint } from './endpoint.ts';
import { entityTag, matchesTag } from './etag.ts';
import { sendLongBody } from './long-body.ts';
import { streamOutcome } from './ndjson.ts';
import { collectStream } from './node-results.ts';
import type { Body } from './paced-text.ts';
import type { CommonParameters } from './parameters.ts';
import { jsonType, sendBody } from './reply.ts';
import type { RestServices } from './service.ts';

interface Sending {
  readonly services: RestServices;
  readonly endpoint: Endpoint;
  readonly request: FastifyRequest;
  readonly response: ServerResponse;
  readonly headers: Record<string, string | number>;
  readonly outcome: Outcome;
  readonly common: CommonParameters;
  readonly words: readonly string[];
}

/** What it returns must be awaited; a short reply that can be made at once returns nothing. */
export function send(sending: Sending, ndjson: boolean): Promise<void> | undefined {
  const { services, endpoint, response, headers, outcome, common } = sending;
  if (ndjson) {
    response.writeHead(statusOf(sending), { ...headers, 'Content-Type': 'application/x-ndjson' });
    return streamOutcome(response, outcome, services.catalog, common);
  }
  const { answer } = outcome;
  if (answer.shape !== 'stream') return sendAnswer(sending, answer);
  return collectStream(answer.results, endpoint).then((collected) => sendAnswer(sending, collected));
}

const statusOf = ({ endpoint, common }: Sending): number => (endpoint.method === 'POST' && !common.dryRun ? 201 : 200);

function sendAnswer(sending: Sending, answer: Answer | DryRun): Promise<void> | undefined {
  const { services, request, response, headers, outcome, common } = sending;
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
  const body = bodyOf(answer, outcome.snapshot, services.catalog, common);
  const more = 'messages' in answer ? (answer.messages ?? []) : [];
  return body instanceof Promise ? body.then((made) => sendMade(sending, made, more)) : sendMade(sending, body, more);
}

function sendMade(sending: Sending, made: Body, more: readonly string[]): Promise<void> | undefined {
  const { endpoint, request, response, headers, outcome, common, words } = sending;
  const messages = (): string[] => [
    `request ${request.id}`,
    [endpoint.command.name, ...words].join(' ').trim(),
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
