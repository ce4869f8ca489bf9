import { components } from './describe/openapi-components.ts';
import { operation, publicOperation } from './describe/operation.ts';
import { groupOf, rowsAt } from './describe/rows.ts';
import type { Endpoint } from './endpoint.ts';
import { publicPaths } from './public-paths.ts';
import type { Root } from './roots.ts';

/** The interface at a root as an OpenAPI 3.1 document. */
export function openApiDocument(root: Root, endpoints: readonly Endpoint[], version: string): object {
  const rows = rowsAt(root, endpoints);
  const paths: Record<string, Record<string, object>> = {};
  for (const publicPath of publicPaths) paths[publicPath.path] = { get: publicOperation(publicPath) };
  for (const row of rows) (paths[row.path] ??= {})[row.method.toLowerCase()] = operation(root, row);
  return {
    openapi: '3.1.0',
    info: {
      title: 'muster',
      version,
      summary: 'Cluster management over HTTPS.',
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: root.prefix }],
    tags: ['about', ...new Set(rows.map(groupOf))].map((name) => ({ name })),
    security: [{ token: [] }, { userName: [], userPW: [] }],
    paths,
    components: components(root),
  };
}
