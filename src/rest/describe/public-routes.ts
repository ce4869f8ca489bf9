import type { ServerResponse } from 'node:http';
import { resourceGroups } from './rows.ts';
import { consoleRoutes } from './console-files.ts';
import { docsPage } from './docs.ts';
import { endpoints } from '../endpoints/index.ts';
import { type HttpRequest, logRequest } from '../http/request-log.ts';
import { openApiDocument } from './openapi.ts';
import type { Manual } from './manual.ts';
import { framePolicy } from './page-frame.ts';
import { jsonText } from '../http/body-writer.ts';
import { formAsked } from '../http/parameters.ts';
import { oidcRoutes } from '../http/oidc-routes.ts';
import { publicPaths } from './public-paths.ts';
import { StartGate } from '../http/start-gate.ts';
import { faultOf, sendBody, sendFault } from '../http/reply.ts';
import { Fault } from '../../core/errors.ts';
import type { Root } from '../endpoints/roots.ts';
import type { RestServices } from '../endpoints/endpoint.ts';

export interface PublicRoute {
  readonly path: string;
  /** GET and HEAD, if absent. */
  readonly methods?: readonly string[];
  answer(request: HttpRequest, response: ServerResponse): void;
}

/** What needs no credentials: the resource groups, whether the service is up, the description of the interface, and the manual. */
export function publicRoutes(services: RestServices, root: Root): PublicRoute[] {
  const { store, version } = services;
  const json = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);
  const up = json({ status: 'up', version });
  const groups = resourceGroups(root, endpoints);
  const bodies: Record<
    Exclude<(typeof publicPaths)[number]['path'], '/manual' | '/console'>,
    (url: string) => Buffer
  > = {
    '/': (url) => Buffer.from(`${jsonText(groups, formAsked(root, url))}\n`),
    '/health': () => (store.healthy ? up : json({ status: 'down', ...(store.age > 0 && { age: store.age }) })),
    '/openapi.json': whenAsked(() => json(openApiDocument(root, endpoints, version))),
    '/docs': whenAsked(() => Buffer.from(docsPage(root, endpoints, version))),
  };
  const fixed = publicPaths.flatMap(({ path, contentType }) =>
    path === '/manual' || path === '/console'
      ? []
      : {
          path: path === '/' ? '' : path,
          answer({ url }: HttpRequest, response: ServerResponse) {
            const body = bodies[path](url);
            if (contentType === 'text/html') return sendPage(response, body);
            const headers = { 'Content-Type': `${contentType}; charset=utf-8` };
            return sendBody(response, path === '/health' && body !== up ? 503 : 200, headers, body);
          },
        },
  );
  const forBrowsers = root.takesSessions ? consoleRoutes(services, root) : [];
  return [...fixed, ...manualRoutes(services, root), ...oidcRoutes(services, root), ...forBrowsers];
}

const sendPage = (response: ServerResponse, page: string | Buffer): void =>
  sendBody(response, 200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': framePolicy }, page);

/** Read by the first who asks, once for each root: most servers are never asked. */
const manuals = new Map<string, Promise<Manual>>();

function manualOf(root: Root, version: string): Promise<Manual> {
  const known = manuals.get(root.prefix);
  if (known !== undefined) return known;
  const opening = import('./manual.ts').then(({ openManual }) => openManual(root, endpoints, version));
  manuals.set(root.prefix, opening);
  // The next who asks tries again: files may be there by then.
  opening.catch(() => manuals.delete(root.prefix));
  return opening;
}

/** Anybody may search, and a search takes some milliseconds: between two of them all other requests have their turn. */
const searches = new StartGate(1);
const mostSearches = 100;
let waiting = 0;

async function searched(manual: Manual, question: string, response: ServerResponse): Promise<string | undefined> {
  if (waiting >= mostSearches)
    throw new Fault('unavailable', 'Too many searches wait for their turn; try again in a moment.', { retryAfter: 1 });
  waiting++;
  try {
    await searches.turn();
  } finally {
    waiting--;
  }
  return response.destroyed ? undefined : manual.results(question);
}

/** The pages of the manual, and its search. */
function manualRoutes({ version, log }: RestServices, root: Root): PublicRoute[] {
  type Show = (manual: Manual, url: URL, response: ServerResponse) => string | undefined | Promise<string | undefined>;
  const route = (path: string, show: Show): PublicRoute => ({
    path,
    answer(request, response) {
      const url = new URL(request.url, 'https://muster');
      const answered = async (): Promise<void> => {
        const page = await show(await manualOf(root, version), url, response);
        // Nobody reads the answer any more.
        if (response.destroyed) return;
        const sentence = `The manual has no page at ${url.pathname}; ${root.prefix}/manual lists all.`;
        if (page === undefined) throw new Fault('unknown-path', sentence);
        sendPage(response, page);
      };
      answered().catch((error: unknown) => {
        const fault = faultOf(error, log, request.id);
        sendFault(response, root, fault, { 'X-Request-Id': request.id });
        logRequest(log, request, response, { fault });
      });
    },
  });
  const byPath: Show = (manual, { pathname }) =>
    manual.page(decodeURIComponent(pathname.slice(`${root.prefix}/manual`.length)).replaceAll(/^\/|\/$/g, ''));
  return [
    route('/manual', byPath),
    route('/manual/:page', byPath),
    route('/manual/reference/:page', byPath),
    route('/manual/search', (manual, { searchParams }, response) =>
      searched(manual, searchParams.get('q') ?? '', response),
    ),
  ];
}

/** Made by the first who asks: both documents at every start would be a fifth of it. */
function whenAsked(make: () => Buffer): () => Buffer {
  let body: Buffer | undefined;
  return () => (body ??= make());
}
