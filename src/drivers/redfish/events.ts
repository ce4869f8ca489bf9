import { Fault } from '../../core/errors.ts';
import type { Severity } from '../../core/event-kinds.ts';
import { type RedfishService, Refusal, type Resource } from '../../protocols/redfish/client.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import {
  at,
  flagAt,
  type Json,
  linkAt,
  listAt,
  localPath,
  parseResource,
  textAt,
  textsAt,
} from '../../protocols/redfish/json.ts';
import { messageText } from '../../protocols/redfish/message.ts';
import { rootMember } from '../../protocols/redfish/node-resources.ts';
import type { HardwareEvents, ReportedEvent } from '../capabilities.ts';
import { withoutMediaAddress } from '../media.ts';
import type { Target } from './target.ts';

/** Of one message; BMCs send a few together. */
const mostTogether = 64;

const severities: Readonly<Record<string, Severity>> = { ok: 'ok', warning: 'warning', critical: 'critical' };

/** The events in what a service sends; other reports that come the same way have none. */
export function eventsIn(bytes: Buffer): readonly ReportedEvent[] {
  const body = parseResource(bytes, 'the event of its BMC');
  return listAt(body, 'Events')
    .slice(0, mostTogether)
    .flatMap((event) => {
      const message = messageText(event) ?? textAt(event, 'MessageId');
      const word = textAt(event, 'MessageSeverity') ?? textAt(event, 'Severity');
      if (message === undefined) return [];
      return { message: withoutMediaAddress(message), severity: severities[word?.toLowerCase() ?? ''] ?? 'ok' };
    });
}

export function redfishEvents({ service }: Target): HardwareEvents {
  const find = (signal: AbortSignal) => rootMember(service, 'EventService', signal);
  return {
    async follow(take, signal) {
      const events = await find(signal);
      const path = localPath(at(events?.body, 'ServerSentEventUri'));
      if (path === undefined || flagAt(events?.body, 'ServiceEnabled') === false) return undefined;
      return service.follow(withFilter(path, events?.body), (data) => take(eventsIn(data)), signal);
    },
    async subscribe({ destination, context, isOwn }, signal) {
      const events = await find(signal);
      const path = linkAt(events?.body, 'Subscriptions');
      if (path === undefined || flagAt(events?.body, 'ServiceEnabled') === false) return 'none';
      const known = await memberResources(service, path, signal, 'leaveOut');
      const own = known.filter(({ body }) => isOwn(textAt(body, 'Destination') ?? ''));
      const kept = own.find(({ body }) => textAt(body, 'Destination') === destination && isAtWork(body));
      for (const one of own) if (one !== kept) await removeIfThere(service, one, signal);
      if (kept) return 'kept';
      try {
        await service.act(
          path,
          { Destination: destination, Context: context, Protocol: 'Redfish', ...kindsIn(events?.body) },
          signal,
        );
        return 'made';
      } catch (error) {
        if (!(error instanceof Refusal && error.ofRequest)) throw error;
        throw new Fault('invalid', `its BMC takes no subscription to its events: ${error.message}`, { cause: error });
      }
    },
    async unsubscribe(isOwn, signal) {
      const path = linkAt((await find(signal))?.body, 'Subscriptions');
      for (const one of await memberResources(service, path, signal, 'leaveOut'))
        if (isOwn(textAt(one.body, 'Destination') ?? '')) await removeIfThere(service, one, signal);
    },
  };
}

async function removeIfThere(service: RedfishService, resource: Resource, signal: AbortSignal): Promise<void> {
  try {
    await service.remove(resource, signal);
  } catch (error) {
    if (!(error instanceof Refusal && error.status === 404)) throw error;
  }
}

/** Services end subscriptions that they could not deliver to. */
const isAtWork = (body: Json): boolean => (textAt(body, 'Status', 'State') ?? 'Enabled') === 'Enabled';

/** Older services want the kinds of events named, newer ones no longer know these. */
function kindsIn(body: Json): Record<string, Json> {
  const formats = textsAt(body, 'EventFormatTypes');
  if (formats.includes('Event')) return { EventFormatType: 'Event' };
  const kinds = textsAt(body, 'EventTypesForSubscription');
  return kinds.length > 0 && formats.length === 0
    ? { EventTypes: kinds.filter((kind) => kind !== 'MetricReport') }
    : {};
}

/** Without reports of metrics, where the service lets itself be asked for that. */
function withFilter(path: string, body: Json): string {
  const isOffered = flagAt(body, 'SSEFilterPropertiesSupported', 'EventFormatType') === true;
  return isOffered && !path.includes('?') ? `${path}?$filter=EventFormatType%20eq%20'Event'` : path;
}
