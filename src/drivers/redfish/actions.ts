import { Fault } from '../../core/errors.ts';
import type { RedfishService, Resource } from '../../protocols/redfish/client.ts';
import { at, linkAt, listAt, localPath, textAt, textsAt } from '../../protocols/redfish/json.ts';

export interface Action {
  readonly target: string;
  /** The values its parameter takes; undefined if the service does not say. */
  readonly allowed: readonly string[] | undefined;
}

/** An action a resource offers, with the values of one parameter (DSP0266 "Actions", "Action info annotation"). */
export async function actionOf(
  service: RedfishService,
  resource: Resource,
  name: string,
  parameter: string,
  signal: AbortSignal,
): Promise<Action | undefined> {
  const offered = at(resource.body, 'Actions', `#${name}`);
  const target = localPath(at(offered, 'target'));
  if (target === undefined) return undefined;
  const listed = textsAt(offered, `${parameter}@Redfish.AllowableValues`);
  if (listed.length > 0) return { target, allowed: listed };
  const link = localPath(at(offered, '@Redfish.ActionInfo')) ?? linkAt(offered, '@Redfish.ActionInfo');
  const info = await service.find(link, signal);
  const described = listAt(info?.body, 'Parameters').find((item) => textAt(item, 'Name') === parameter);
  const values = textsAt(described, 'AllowableValues');
  return { target, allowed: values.length > 0 ? values : undefined };
}

/** The first of some words that a property takes, by the annotation beside it. */
export function allowedWord(parent: unknown, property: string, wanted: readonly string[]): string | undefined {
  const listed = textsAt(parent, `${property}@Redfish.AllowableValues`);
  return listed.length === 0 ? wanted[0] : wanted.find((word) => listed.includes(word));
}

const mostShown = 20;

export function notOffered(what: string, offered: readonly string[]): Fault {
  const more = offered.length > mostShown ? ' and others' : '';
  const known = offered.length > 0 ? `; it has ${offered.slice(0, mostShown).join(', ')}${more}` : '';
  return new Fault('invalid', `its service processor has no ${what}${known}.`);
}
