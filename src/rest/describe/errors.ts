import { type ErrorKind, errorKinds } from '../../core/errors.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { type Root, statusAt } from '../endpoints/roots.ts';
import { canRespondAsync, parameterNames, requiresMembers } from './rows.ts';

interface Meaning {
  /** A sentence on what leads to it. */
  readonly when: string;
  /** Whether a request to this endpoint can meet it; absent: every one. */
  readonly metBy?: (endpoint: Endpoint) => boolean;
  /** Only a strict root minds. */
  readonly strict?: true;
}

const hasBody = ({ body }: Endpoint): boolean => body !== undefined;
const namesObjects = ({ path }: Endpoint): boolean => parameterNames(path).length > 0;

const meanings: Readonly<Record<ErrorKind, Meaning>> = {
  'too-large': { when: 'The URL, a header or the body is too large, or the JSON is nested too deep.' },
  malformed: {
    when: 'The body is not a JSON object, a member has the wrong type, or a header is not the number it must be.',
  },
  'missing-action': { when: 'The body lacks the member that says what to do.', metBy: requiresMembers },
  'missing-operation-data': { when: 'The body lacks what the operation works with.', metBy: requiresMembers },
  'missing-member': { when: 'The body lacks another required member.', metBy: hasBody },
  'unknown-member': {
    when: 'The body has an unknown member, the query has an unknown parameter, or the body is a form.',
    strict: true,
  },
  unauthenticated: { when: 'Credentials are missing, wrong or expired.' },
  denied: {
    when: 'The policy does not let the user run the command on these nodes.',
    metBy: ({ command }) => !command.free,
  },
  'unknown-path': {
    when: 'There is no such path, a segment is empty, or ALLRESOURCES is used with a method other than GET.',
    metBy: namesObjects,
  },
  'unknown-object': {
    when: 'A named object, node or table does not exist.',
    metBy: (endpoint) => namesObjects(endpoint) || hasBody(endpoint),
  },
  invalid: {
    when: 'An attribute or its value is invalid, the object exists already, the range selects nothing or too much, or the operation failed on a node.',
  },
  conflict: {
    when: 'Somebody works on the same thing; the sentence says who and since when.',
    metBy: ({ command }) => command.kind === 'long',
  },
  method: {
    when: 'The path does not offer the method; the header Allow names those it does.',
    metBy: ({ needsToken }) => needsToken === true,
  },
  'not-acceptable': { when: 'The client accepts neither JSON nor NDJSON.', strict: true },
  deadline: {
    when: 'The operation timed out on every node it was asked of, or long work took too long.',
    metBy: canRespondAsync,
  },
  precondition: {
    when: 'If-Match names no ETag that the objects have now; nothing was changed.',
    metBy: ({ method }) => method !== 'GET',
  },
  expectation: { when: 'X-Expect-Nodes, or an Expect header other than 100-continue, does not hold.' },
  garbled: { when: 'A program or a device answered something that cannot be understood.', metBy: canRespondAsync },
  unavailable: {
    when: 'The database or a daemon is away, there were too many requests or failed logins, or the service has a bug; Retry-After may say when to try again.',
  },
};

interface ErrorRow {
  readonly status: number;
  readonly code: number;
  readonly when: string;
}

/** The errors of a root in the order of their statuses; with an endpoint, those a request to it can meet. */
export function errorsAt(root: Root, endpoint?: Endpoint): ErrorRow[] {
  const kinds = (Object.keys(errorKinds) as ErrorKind[]).filter((kind) => {
    const { strict, metBy } = meanings[kind];
    return (root.strict || !strict) && (endpoint === undefined || metBy === undefined || metBy(endpoint));
  });
  return kinds
    .map((kind) => ({ status: statusAt(root, kind), code: errorKinds[kind].code, when: meanings[kind].when }))
    .sort((a, b) => a.status - b.status || a.code - b.code);
}

export const statusesAt = (root: Root, endpoint?: Endpoint): number[] => [
  ...new Set(errorsAt(root, endpoint).map(({ status }) => status)),
];
