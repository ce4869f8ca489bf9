import type { ServerResponse } from 'node:http';
import { resourceGroups } from './rows.ts';
import { docsPage, docsPolicy } from './docs.ts';
import { endpoints } from '../endpoints/index.ts';
import type { HttpRequest } from '../http/request-log.ts';
import { openApiDocument } from './openapi.ts';
import { jsonText } from '../http/body-writer.ts';
import { formAsked } from '../http/parameters.ts';
import { publicPaths } from './public-paths.ts';
import { sendBody } from '../http/reply.ts';
import type { Root } from '../endpoints/roots.ts';
import type { RestServices } from '../endpoints/endpoint.ts';

interface PublicRoute {
  readonly path: string;
  answer(request: HttpRequest, response: ServerResponse): void;
}

/** What needs no credentials: the resource groups, whether the service is up, and the description of the interface. */
export function publicRoutes({ store, version }: RestServices, root: Root): PublicRoute[] {
  const json = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);
  const up = json({ status: 'up' });
  const down = json({ status: 'down' });
  const groups = resourceGroups(root, endpoints);
  const bodies: Record<(typeof publicPaths)[number]['path'], (url: string) => Buffer> = {
    '/': (url) => Buffer.from(`${jsonText(groups, formAsked(root, url))}\n`),
    '/health': () => (store.healthy ? up : down),
    '/openapi.json': whenAsked(() => json(openApiDocument(root, endpoints, version))),
    '/docs': whenAsked(() => Buffer.from(docsPage(root, endpoints, version))),
  };
  return publicPaths.map(({ path, contentType }) => ({
    path: path === '/' ? '' : path,
    answer({ url }, response) {
      const body = bodies[path](url);
      const page = contentType === 'text/html' ? { 'Content-Security-Policy': docsPolicy } : {};
      const headers = { 'Content-Type': `${contentType}; charset=utf-8`, ...page };
      sendBody(response, body === down ? 503 : 200, headers, body);
    },
  }));
}

/** Made by the first who asks: both documents at every start would be a fifth of it. */
function whenAsked(make: () => Buffer): () => Buffer {
  let body: Buffer | undefined;
  return () => (body ??= make());
}
