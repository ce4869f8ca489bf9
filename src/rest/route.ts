import type { Endpoint } from './endpoint.ts';
import type { Root } from './roots.ts';
import type { RestServices } from './service.ts';

/** A row as it is offered at a root. */
export interface Route {
  readonly services: RestServices;
  readonly root: Root;
  readonly endpoint: Endpoint;
}
