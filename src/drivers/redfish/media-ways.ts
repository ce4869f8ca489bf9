import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { at, linkAt, listAt, localPath, textAt } from '../../protocols/redfish/json.ts';
import { scrub } from '../../protocols/redfish/faults.ts';
import { shownImage } from '../media.ts';
import type { Target } from './target.ts';

/** How a service gets an order: by an action, or where it has none by a change of the drive (older iDRAC, iLO and XCC). */
export type MediaWay =
  | { readonly kind: 'patch' }
  | {
      readonly kind: 'action';
      readonly path: string;
      /** The parameters that it takes; undefined: it does not say. */
      readonly parameters: readonly string[] | undefined;
    };

export async function wayOf(
  { service }: Target,
  { body }: Resource,
  name: 'InsertMedia' | 'EjectMedia',
  signal: AbortSignal,
): Promise<MediaWay> {
  const offered = at(body, 'Actions', `#VirtualMedia.${name}`);
  const path = localPath(at(offered, 'target'));
  if (path === undefined) {
    if (at(body, 'Image') === undefined && at(body, 'Inserted') === undefined)
      throw new Fault(
        'invalid',
        `drive ${textAt(body, 'Id') ?? ''} takes no images: it has neither ${name} nor Image.`,
      );
    return { kind: 'patch' };
  }
  const link = localPath(at(offered, '@Redfish.ActionInfo')) ?? linkAt(offered, '@Redfish.ActionInfo');
  const info = await service.find(link, signal);
  const named = listAt(info?.body, 'Parameters').flatMap((each) => textAt(each, 'Name') ?? []);
  return { kind: 'action', path, parameters: named.length > 0 ? named : undefined };
}

/**
 * What to send, one after the other until the service takes the form of it. Some refuse members that they do not need, others want to hear
 * how the image is fetched, which its address says already.
 */
export function insertBodies(way: MediaWay, url: string): readonly object[] {
  const usual = { Image: url, Inserted: true, WriteProtected: true };
  const protocol = URL.parse(url)?.protocol.replace(/:$/, '').toUpperCase() ?? 'HTTP';
  const whole = { ...usual, TransferMethod: 'Stream', TransferProtocolType: protocol };
  if (way.kind === 'patch') return [usual, { Image: url, Inserted: true }, { Image: url }];
  const { parameters } = way;
  if (parameters === undefined) return [usual, whole, { Image: url }];
  const known = Object.entries(whole).filter(([name]) => parameters.includes(name));
  return [Object.fromEntries(known), { Image: url }];
}

/** What a service says of an address, without what opens it. */
export function scrubbed(error: unknown, url: string | undefined): unknown {
  if (!(error instanceof Fault) || url === undefined || url === '') return error;
  const hidden = shownImage(url);
  const secrets = [
    url,
    ...(URL.parse(url)
      ?.pathname.split('/')
      .filter((part) => part.length >= 20) ?? []),
  ];
  if (hidden === url || !secrets.some((secret) => error.message.includes(secret))) return error;
  return new Fault(
    error.kind,
    error.sentences.map((sentence) => scrub(sentence.replaceAll(url, hidden), secrets)),
    { cause: error },
  );
}
