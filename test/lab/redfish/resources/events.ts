import { request as plainRequest } from 'node:http';
import { request } from 'node:https';
import type { Bmc } from '../bmc.ts';
import type { EventWays } from '../protocol.ts';
import { collection, done, failure, link, root, textOf } from '../resource.ts';

const service = `${root}/EventService`;
const subscriptions = `${service}/Subscriptions`;
let last = 0;

/** EventService of DSP0266: server-sent events, and subscriptions as far as there are slots. */
export function addEvents(bmc: Bmc): void {
  const { resources } = bmc;
  resources.set(service, {
    get: () => ({
      '@odata.id': service,
      '@odata.type': '#EventService.v1_10_0.EventService',
      Id: 'EventService',
      ServiceEnabled: bmc.events !== false,
      EventFormatTypes: ['Event', 'MetricReport'],
      ...(bmc.events && bmc.events.stream
        ? { ServerSentEventUri: `${service}/SSE`, SSEFilterPropertiesSupported: { EventFormatType: true } }
        : {}),
      ...(bmc.events && bmc.events.subscriptions > 0 ? { Subscriptions: link(subscriptions) } : {}),
    }),
  });
  resources.set(`${service}/SSE`, {
    get: () => ({}),
    stream(response) {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(': here\n\n');
      bmc.streams.add(response);
      response.on('close', () => bmc.streams.delete(response));
    },
  });
  resources.set(
    subscriptions,
    collection(subscriptions, 'EventDestination', () => [...bmc.subscriptions.keys()], {
      privilege: 'ConfigureManager',
      post(body) {
        const room = bmc.events ? bmc.events.subscriptions : 0;
        if (bmc.subscriptions.size >= room)
          return failure(
            400,
            'EventSubscriptionLimitExceeded',
            'The event subscription establishment has been rejected.',
          );
        if (body.Protocol !== 'Redfish') return failure(400, 'PropertyMissing', 'The property Protocol is required.');
        const path = addSubscription(bmc, textOf(body.Destination), textOf(body.Context));
        return { status: 201, headers: { Location: path } };
      },
    }),
  );
}

export function addSubscription(bmc: Bmc, destination: string, context: string): string {
  const path = `${subscriptions}/${++last}`;
  const made = { destination, context };
  bmc.subscriptions.set(path, made);
  bmc.resources.set(path, {
    get: () => ({
      '@odata.id': path,
      Id: path.split('/').at(-1),
      Destination: destination,
      Context: context,
      Protocol: 'Redfish',
      Status: { State: 'Enabled' },
    }),
    privilege: 'ConfigureManager',
    delete() {
      bmc.subscriptions.delete(path);
      bmc.resources.delete(path);
      return done;
    },
  });
  return path;
}

/** Changes what it can, as after a restart: streams end. */
export function setEvents(bmc: Bmc, events: EventWays | false): void {
  bmc.events = events;
  for (const stream of bmc.streams) stream.destroy();
}

export function report(bmc: Bmc, event: object, raw: string | undefined): void {
  const body = JSON.stringify({ '@odata.type': '#Event.v1_7_0.Event', Id: '1', Name: 'Event', Events: [event] });
  for (const stream of bmc.streams) stream.write(raw ?? `id: ${++last}\ndata: ${body}\n\n`);
  for (const { destination } of bmc.subscriptions.values()) {
    const send = destination.startsWith('https:') ? request : plainRequest;
    // As most BMCs do, it does not look at the certificate.
    const sent = send(destination, { method: 'POST', rejectUnauthorized: false } as object, (reply) => reply.resume());
    sent.on('error', () => undefined);
    sent.end(body);
  }
}
