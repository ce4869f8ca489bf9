import type { ServerResponse } from 'node:http';
import { DiskFull, isDiskFull } from '../core/disk-full.ts';
import { errorKinds, Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { sentenceWithoutSecrets } from '../objects/secret-names.ts';
import { GuardedResponse } from './guarded-response.ts';
import { hasBody } from './incoming-body.ts';
import { jsonText } from './json-text.ts';
import { formAsked } from './parameters.ts';
import { shownPath } from './path-secrets.ts';
import { detailedErrors, prefers } from './prefer.ts';
import { referenceError } from './reference-errors.ts';
import { type Root, sentencesAt, statusAt } from './roots.ts';
import { sendBeforeBodyEnds } from './unread-body.ts';

export const jsonType = 'application/json; charset=utf-8';

/** Sends a short body, also to a client that is still sending its own. */
export function sendBody(
  response: ServerResponse,
  status: number,
  headers: Record<string, string | number>,
  body: Buffer | string,
): void {
  if (response.destroyed) return;
  const { req: request } = response;
  const isRead = request.complete || !hasBody(request);
  if (isRead && typeof body === 'string' && request.method !== 'HEAD' && response instanceof GuardedResponse) {
    response.reply(status, headers, body);
    return;
  }
  headers['Content-Length'] = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  response.writeHead(status, headers);
  if (isRead) response.end(body);
  else sendBeforeBodyEnds(response, body);
}

/** What went wrong, as the client is told; everything unforeseen is a bug of ours and only the log says more. */
export function faultOf(error: unknown, log: Logger, id: string): Fault {
  if (error instanceof Fault) {
    if (error.kind === 'unavailable' && error.cause !== undefined)
      log.error({ request: id, err: error.cause }, sentenceWithoutSecrets(error.message));
    return error;
  }
  log.error({ request: id, err: error }, 'a request failed unexpectedly');
  if (isDiskFull(error)) return new DiskFull('A file could not be written', undefined, undefined);
  return new Fault('unavailable', `Something went wrong inside muster; its log says more under request ${id}.`, {
    retryAfter: 5,
  });
}

export function sendFault(
  response: ServerResponse,
  root: Root,
  fault: Fault,
  headers: Record<string, string | number>,
  command?: string,
): void {
  if (fault.retryAfter !== undefined) headers['Retry-After'] = fault.retryAfter;
  // Not Basic, which is understood too: a browser would ask for a password, and send it along whenever another site leads it here.
  if (fault.kind === 'unauthenticated' && root.takesAuthorization)
    headers['WWW-Authenticate'] = 'Bearer realm="muster"';
  headers['Content-Type'] = jsonType;
  const body = root.hasReferenceErrors
    ? referenceBody(response, root, fault, command)
    : {
        error: harmless(sentencesAt(root, fault)),
        errorcode: errorKinds[fault.kind].code,
        ...detailsOf(response, root, fault),
      };
  sendBody(response, statusAt(root, fault.kind), headers, `${jsonText(body, formAsked(root, response.req.url))}\n`);
}

const mostNames = 100_000;

/** For programs that ask for it: what the sentences are about, as data. */
function detailsOf({ req }: ServerResponse, root: Root, { kind, missing, reference }: Fault) {
  if (!root.tellsDetails || !prefers(req.headers['prefer'], detailedErrors)) return {};
  return {
    kind,
    ...(missing ? { missing: harmless(missing.slice(0, mostNames)) } : {}),
    ...(reference ? { reference: harmless(reference) } : {}),
  };
}

/** They may repeat what was sent, and with it a secret under a wrong name or in a wrong place. */
const harmless = (sentences: readonly string[]): string[] => sentences.map(sentenceWithoutSecrets);

function referenceBody({ req: { method = '', url = '' } }: ServerResponse, root: Root, fault: Fault, command?: string) {
  const path = shownPath(url).slice(root.prefix.length);
  const { error, errorcode } = referenceError(fault, { method, path, command });
  return { error: typeof error === 'string' ? sentenceWithoutSecrets(error) : harmless(error), errorcode };
}
