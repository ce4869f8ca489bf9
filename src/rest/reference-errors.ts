import { type ErrorKind, errorKinds, type Fault } from '../core/errors.ts';

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
export function referenceError(
  fault: Fault,
  refused: Refused,
): { error: string | string[]; errorcode: string | number } {
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
