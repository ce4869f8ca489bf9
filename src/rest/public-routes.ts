import type { FastifyReply, FastifyRequest } from 'fastify';
import { docsPage } from './docs.ts';
import type { Endpoint } from './endpoint.ts';
import { openApiDocument } from './openapi.ts';
import { jsonType, sendPieces } from './reply.ts';
import type { Root } from './roots.ts';
import type { RestServices } from './service.ts';

export interface PublicRoute {
  readonly path: string;
  handler(request: FastifyRequest, reply: FastifyReply): void;
}

/** What needs no credentials: the resource groups, whether the service is up, and the description of the interface. */
export function publicRoutes(services: RestServices, root: Root, endpoints: readonly Endpoint[]): PublicRoute[] {
  const groups = [...new Set(endpoints.map(({ path }) => path.split('/')[1]!))].sort();
  const page = Buffer.from(docsPage(root, endpoints, services.version));
  const document = Buffer.from(`${JSON.stringify(openApiDocument(root, endpoints, services.version))}\n`);
  const fixed = (path: string, type: string, bytes: Buffer): PublicRoute => ({
    path,
    handler(_request, reply) {
      reply.hijack();
      sendPieces(reply.raw, 200, { 'Content-Type': type }, [bytes]);
    },
  });
  return [
    fixed('', jsonType, Buffer.from(`${JSON.stringify(groups)}\n`)),
    fixed('/openapi.json', jsonType, document),
    fixed('/docs', 'text/html; charset=utf-8', page),
    {
      path: '/health',
      handler(_request, reply) {
        reply.hijack();
        const { healthy } = services.store;
        sendPieces(reply.raw, healthy ? 200 : 503, { 'Content-Type': jsonType }, [
          Buffer.from(`{"status":"${healthy ? 'up' : 'down'}"}\n`),
        ]);
      },
    },
  ];
}
