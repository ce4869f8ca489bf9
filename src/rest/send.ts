import type { ServerResponse } from 'node:http';
import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../commands/command.ts';
import type { DryRun, Outcome } from '../dispatch/dispatch.ts';
import { bodyOf, withDebug } from './body-writer.ts';
import type { Endpoint } from './endpoint.ts';
import { streamOutcome } from './ndjson.ts';
import { collectStream } from './node-results.ts';
import { type Body, slice } from './paced-text.ts';
import type { CommonParameters } from './parameters.ts';
import { jsonType, sendBody } from './reply.ts';
import type { RestServices } from './route.ts';
import type { Snapshot } from '../database/snapshot.ts';

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

/** Tags of one process do not outlive it: after a backup was restored, versions of tables count again from where it was made. */
const epoch = randomBytes(6).toString('base64url');

let latest: { snapshot: Snapshot; tables: readonly string[]; version: number } | undefined;

/** The sequence of the snapshot in which one of the tables last changed. Most requests ask what the one before asked. */
function latestVersion(snapshot: Snapshot, tables: readonly string[]): number {
  if (latest?.snapshot === snapshot && latest.tables === tables) return latest.version;
  let version = 0;
  for (const table of tables) version = Math.max(version, snapshot.version(table));
  latest = { snapshot, tables, version };
  return version;
}

/** A tag that changes whenever one of the tables does. */
function entityTag(
  snapshot: Snapshot,
  tables: readonly string[],
  { pretty, xcoll, lists, debug }: CommonParameters,
): string {
  const version = latestVersion(snapshot, tables);
  const form = Number(pretty) + 2 * Number(xcoll) + 4 * Number(lists) + 8 * Number(debug);
  return `"${epoch}.${version}.${form}"`;
}

function matchesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((candidate) => {
    const trimmed = candidate.trim();
    return trimmed === '*' || trimmed.replace(/^W\//, '') === tag;
  });
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

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}
