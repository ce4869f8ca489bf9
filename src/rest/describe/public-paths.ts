import type { Root } from '../endpoints/roots.ts';

/** Paths below every root that are answered without credentials; they run no command. */
export const publicPaths = [
  {
    path: '/',
    operationId: 'getRoot',
    summary: 'Names of the resource groups.',
    contentType: 'application/json',
    example: ['globalconf', 'groups', 'networks', 'nodes'],
  },
  {
    path: '/health',
    operationId: 'getHealth',
    summary: 'Whether the service is up, and its version; status 503 if it is not up.',
    contentType: 'application/json',
    example: { status: 'up', version: '0.1.0' },
    unavailable: { status: 'down' },
  },
  {
    path: '/openapi.json',
    operationId: 'getOpenapi',
    summary: 'This interface as an OpenAPI 3.1 document.',
    contentType: 'application/json',
  },
  {
    path: '/docs',
    operationId: 'getDocs',
    summary: 'This interface as a page to read.',
    contentType: 'text/html',
  },
  {
    path: '/manual',
    operationId: 'getManual',
    summary: 'The manual: a page for each task, with a search over all of them and over this interface.',
    contentType: 'text/html',
  },
  {
    path: '/console',
    operationId: 'getConsole',
    summary: 'The web console: the cluster in a browser. Its pages sign in with POST /session.',
    contentType: 'text/html',
    only: '/muster',
  },
] as const satisfies readonly PublicPath[];

export interface PublicPath {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly contentType: 'application/json' | 'text/html';
  readonly example?: unknown;
  /** Offered at this root only. */
  readonly only?: '/muster';
  /** The body when the status is 503. */
  readonly unavailable?: unknown;
}

export const publicPathsAt = ({ prefix }: Root): readonly PublicPath[] =>
  publicPaths.filter((each: PublicPath) => each.only === undefined || each.only === prefix);
