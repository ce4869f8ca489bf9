import type { ServerResponse } from 'node:http';
import { resourceGroups } from './rows.ts';
import { docsPage } from './docs.ts';
import { endpoints } from '../endpoints/index.ts';
import type { HttpRequest } from '../http/request-log.ts';
import { openApiDocument } from './openapi.ts';
import type { Manual } from './manual.ts';
import { framePolicy } from './page-frame.ts';
import { jsonText } from '../http/body-writer.ts';
import { formAsked } from '../http/parameters.ts';
import { publicPaths } from './public-paths.ts';
import { StartGate } from '../http/start-gate.ts';
import { faultOf, sendBody, sendFault } from '../http/reply.ts';
import { Fault } from '../../core/errors.ts';
import type { Root } from '../endpoints/roots.ts';
import type { RestServices } from '../endpoints/endpoint.ts';

interface PublicRoute {
  readonly path: string;
  answer(request: HttpRequest, response: ServerResponse): void;
}

/** What needs no credentials: the resource groups, whether the service is up, the description of the interface, and the manual. */
export function publicRoutes(services: RestServices, root: Root): PublicRoute[] {
  const { store, version } = services;
  const json = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);
  const up = json({ status: 'up' });
  const down = json({ status: 'down' });
  const groups = resourceGroups(root, endpoints);
  const bodies: Record<Exclude<(typeof publicPaths)[number]['path'], '/manual'>, (url: string) => Buffer> = {
    '/': (url) => Buffer.from(`${jsonText(groups, formAsked(root, url))}\n`),
    '/health': () => (store.healthy ? up : down),
    '/openapi.json': whenAsked(() => json(openApiDocument(root, endpoints, version))),
    '/docs': whenAsked(() => Buffer.from(docsPage(root, endpoints, version))),
  };
  const fixed = publicPaths.flatMap(({ path, contentType }) =>
    path === '/manual'
      ? []
      : {
          path: path === '/' ? '' : path,
          answer({ url }: HttpRequest, response: ServerResponse) {
            const body = bodies[path](url);
            if (contentType === 'text/html') return sendPage(response, body);
            const headers = { 'Content-Type': `${contentType}; charset=utf-8` };
            return sendBody(response, body === down ? 503 : 200, headers, body);
          },
        },
  );
  return [...fixed, ...manualRoutes(services, root)];
}

const sendPage = (response: ServerResponse, page: string | Buffer): void =>
  sendBody(response, 200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': framePolicy }, page);

/** The pages of the manual, and its search. */
function manualRoutes({ version, log }: RestServices, root: Root): PublicRoute[] {
  // Most servers are never asked for it: whoever asks first waits until it is read.
  const manual = whenAsked(
    async (): Promise<Manual> => (await import('./manual.ts')).openManual(root, endpoints, version),
  );
  const searches = new StartGate(1);
  const route = (
    path: string,
    show: (opened: Manual, url: URL) => string | undefined | Promise<string>,
  ): PublicRoute => ({
    path,
    answer(request, response) {
      const url = new URL(request.url, 'https://muster');
      const send = async (opened: Manual): Promise<void> => {
        const page = await show(opened, url);
        const sentence = `The manual has no page at ${url.pathname}; ${root.prefix}/manual lists all.`;
        if (page === undefined) throw new Fault('unknown-path', sentence);
        sendPage(response, page);
      };
      manual()
        .then(send)
        .catch((error: unknown) =>
          sendFault(response, root, faultOf(error, log, request.id), { 'X-Request-Id': request.id }),
        );
    },
  });
  const byPath = (opened: Manual, { pathname }: URL): string | undefined =>
    opened.page(decodeURIComponent(pathname.slice(`${root.prefix}/manual`.length)).replaceAll(/^\/|\/$/g, ''));
  return [
    route('/manual', byPath),
    route('/manual/:page', byPath),
    route('/manual/reference/:page', byPath),
    // Anybody may search, and a search takes some milliseconds: between two of them all other requests have their turn.
    route('/manual/search', async (opened, { searchParams }) => {
      await searches.turn();
      return opened.results(searchParams.get('q') ?? '');
    }),
  ];
}

/** Made by the first who asks: these at every start would be a fifth of it. */
function whenAsked<Made>(make: () => Made): () => Made {
  let made: Made | undefined;
  return () => (made ??= make());
}
