import { type ErrorKind, errorKinds } from '../../core/errors.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { type Root, statusAt } from '../endpoints/roots.ts';
import { canRespondAsync, parameterNames, requiresMembers } from './rows.ts';

interface Meaning {
  /** A sentence on what leads to it. */
  readonly when: string;
  /** What whoever gets it does next; for the manual. */
  readonly next: string;
  /** Whether a request to this endpoint can meet it; absent: every one. */
  readonly metBy?: (endpoint: Endpoint) => boolean;
  /** Only a strict root minds. */
  readonly strict?: true;
}

const hasBody = ({ body }: Endpoint): boolean => body !== undefined;
const namesObjects = ({ path }: Endpoint): boolean => parameterNames(path).length > 0;

const meanings: Readonly<Record<ErrorKind, Meaning>> = {
  'too-large': {
    when: 'The URL, a header or the body is too large, or the JSON is nested too deep.',
    next: 'Send less in one request: split the range or the body.',
  },
  malformed: {
    when: 'The body is not a JSON object, a member has the wrong type, or a header is not a number.',
    next: 'Correct the member or header that the sentence names. Send a JSON object with `Content-Type: application/json`.',
  },
  'missing-action': {
    when: 'The body lacks the member that says what to do.',
    next: 'Add the member that the sentence names, such as `action`.',
    metBy: requiresMembers,
  },
  'missing-operation-data': {
    when: 'The body lacks what the operation works with.',
    next: 'Add the member that the sentence names, such as `command`.',
    metBy: requiresMembers,
  },
  'missing-member': {
    when: 'The body lacks another required member.',
    next: 'Add the member that the sentence names.',
    metBy: hasBody,
  },
  'unknown-member': {
    when: 'The body has an unknown member, the query has an unknown parameter, or the body is a form.',
    next: 'Correct the name that the sentence shows. Send a JSON object instead of a form.',
    strict: true,
  },
  unauthenticated: {
    when: 'Credentials are missing, wrong or expired.',
    next: 'Log in again: `muster login`, or `POST /tokens`.',
  },
  denied: {
    when: 'The policy does not let the user run the command on these nodes.',
    next: 'Ask an administrator for a policy rule. `muster explain --user NAME --command COMMAND NODERANGE` shows which rule decides.',
    metBy: ({ command }) => !command.free,
  },
  'unknown-path': {
    when: 'There is no such path, a segment is empty, or ALLRESOURCES is used with a method other than GET.',
    next: 'Compare the path with the reference page at `/muster/docs`.',
    metBy: namesObjects,
  },
  'unknown-object': {
    when: 'A named object, node or table does not exist.',
    next: 'Check the spelling; the sentence often has a similar name. `muster lsdef -t TYPE` lists the objects.',
    metBy: (endpoint) => namesObjects(endpoint) || hasBody(endpoint),
  },
  invalid: {
    when: 'An attribute or its value is invalid, the object exists already, the range selects nothing or too much, or the operation failed on a node.',
    next: 'Read the sentence: it names the object, attribute or node, and what to change. Nothing of a refused change was written.',
  },
  conflict: {
    when: 'Somebody else works on the same object, or has changed it since; the sentence says who and when.',
    next: 'Wait until the other work ends, or cancel it (`muster runs`). For an undo, take back the later changes first.',
    metBy: ({ command }) => command.kind === 'long' || ['revert', 'rinstall'].includes(command.name),
  },
  method: {
    when: 'The path does not have this method; the header Allow lists its methods.',
    next: 'Use one of the methods in `Allow`.',
    metBy: ({ needsToken }) => needsToken === true,
  },
  'not-acceptable': {
    when: 'The client accepts neither JSON nor NDJSON.',
    next: 'Send `Accept: application/json`, `Accept: application/x-ndjson`, or no such header.',
    strict: true,
  },
  deadline: {
    when: 'The operation timed out on every node, or long work took too long.',
    next: 'Find out why the nodes are slow, or give the work more time (`hardware.powerTimeout`, `boot.timeout`, `longWork.seconds`).',
    metBy: canRespondAsync,
  },
  precondition: {
    when: 'If-Match names no ETag that the objects have now; nothing was changed.',
    next: 'Read the objects again, repeat your change on what they are now, and send it with the new ETag.',
    metBy: ({ method }) => method !== 'GET',
  },
  expectation: {
    when: 'X-Expect-Nodes, or an Expect header other than 100-continue, does not hold.',
    next: 'Check the range with `muster nodels NODERANGE`, then correct the range or the number.',
  },
  garbled: {
    when: 'A program or a device sent an answer that muster cannot read.',
    next: 'Look into the log of muster and of the device. Update the firmware or the program that the sentence names.',
    metBy: canRespondAsync,
  },
  unavailable: {
    when: 'The database or a daemon does not answer, there were too many requests or failed logins, or muster has a bug; Retry-After may say when to try again.',
    next: 'Try again after the seconds in `Retry-After`. If it stays, run `muster doctor` and read the log.',
  },
};

interface ErrorRow {
  readonly kind: ErrorKind;
  readonly status: number;
  readonly code: number;
  readonly when: string;
  readonly next: string;
}

/** The errors of a root in the order of their statuses; with an endpoint, those a request to it can meet. */
export function errorsAt(root: Root, endpoint?: Endpoint): ErrorRow[] {
  const kinds = (Object.keys(errorKinds) as ErrorKind[]).filter((kind) => {
    const { strict, metBy } = meanings[kind];
    return (root.strict || !strict) && (endpoint === undefined || metBy === undefined || metBy(endpoint));
  });
  return kinds
    .map((kind) => {
      const { when, next } = meanings[kind];
      return { kind, status: statusAt(root, kind), code: errorKinds[kind].code, when, next };
    })
    .sort((a, b) => a.status - b.status || a.code - b.code);
}

export const statusesAt = (root: Root, endpoint?: Endpoint): number[] => [
  ...new Set(errorsAt(root, endpoint).map(({ status }) => status)),
];
