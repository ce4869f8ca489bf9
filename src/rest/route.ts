import type { Endpoint } from './endpoint.ts';
import type { Root } from './roots.ts';
import type { Logger } from '../core/log.ts';
import type { DispatchServices } from '../dispatch/request.ts';
import type { Authenticator } from './authenticate.ts';
import type { BodyBudgets } from './body-budgets.ts';
import type { Concurrency } from './concurrency.ts';
import type { Connections } from './connections.ts';
import type { RequestMeter, RequestMeters } from './request-meters.ts';
import type { HttpSettings, LimitSettings, XcatwsSettings } from './settings.ts';

/** A row as it is offered at a root. */
export interface Route {
  readonly services: RestServices;
  readonly root: Root;
  readonly endpoint: Endpoint;
  readonly meter: RequestMeter;
}

/** What the REST face needs of the house. */
export interface RestServices extends DispatchServices {
  readonly authenticator: Authenticator;
  readonly concurrency: Concurrency;
  readonly connections: Connections;
  readonly bodies: BodyBudgets;
  readonly meters: RequestMeters;
  readonly log: Logger;
  readonly limits: LimitSettings;
  readonly xcatws: XcatwsSettings;
  readonly http: HttpSettings;
  readonly version: string;
}
