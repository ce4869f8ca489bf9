import type { ServerResponse } from 'node:http';
import { DiskFull, isDiskFull } from '../../core/disk-full.ts';
import { type ErrorKind, errorKinds, Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import { sentenceWithoutSecrets } from '../../objects/secret-names.ts';
import { GuardedResponse } from './guarded-response.ts';
import { formAsked } from './parameters.ts';
import { shownPath } from './request-log.ts';
import { type Root, sentencesAt, statusAt } from '../endpoints/roots.ts';
import { jsonText } from './body-writer.ts';
import { detailedErrors, prefers } from './entity-tags.ts';
import { hasBody, sendBeforeBodyEnds } from './incoming-body.ts';

/** A request that an error answers. */
interface Refused {
  readonly method: string;
  /** Below the root, without its query. */
  readonly path: string;
  /** Undefined: it came to none. */
  readonly command: string | undefined;
}

/** What the reference system's web service says by itself, as one text. Undefined: what we say, since nobody looks for its words. */
const ownTexts: Readonly<Partial<Record<ErrorKind, ((refused: Refused) => string) | undefined>>> = {
  'too-large': undefined,
  malformed: undefined,
  'unknown-member': undefined,
  'missing-action': () => 'Missed Action.',
  'missing-operation-data': () => 'Lack of operation data.',
  unauthenticated: () => 'Authentication failure',
  denied: () => 'Authentication failure',
  'unknown-path': () => 'Unsupported resource.',
  method: ({ method, path }) => `request method '${method}' is not supported on resource '${path}'`,
  'not-acceptable': undefined,
  deadline: undefined,
  garbled: undefined,
  unavailable: undefined,
};

/** Commands that end their errors with a bare code, of which the web service makes a sentence. */
const endWithCode = ['mkdef', 'chdef', 'rmdef'];
const nothingMade = '0 object definitions have been created or modified.';

/** An error as the reference system writes it: one text of its web service, or the list of those of its daemon. */
function referenceError(fault: Fault, refused: Refused): { error: string | string[]; errorcode: string | number } {
  const { kind, reference, sentences } = fault;
  if (Object.hasOwn(ownTexts, kind)) {
    const { code } = errorKinds[kind];
    const error = reference?.[0] ?? ownTexts[kind]?.(refused) ?? sentences.join(' ');
    return { error, errorcode: kind === 'missing-operation-data' ? code : '2' };
  }
  const texts = [...(reference ?? sentences)];
  if (endWithCode.includes(refused.command ?? '') && !texts.includes(nothingMade))
    texts.push('Failed with unknown reason.');
  return { error: texts, errorcode: '1' };
}

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

/** What went wrong, as the client sees it; everything unforeseen is a bug of ours and only the log says more. */
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
  if (fault.nothingDone) headers['X-Muster-Done'] = 'nothing';
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
