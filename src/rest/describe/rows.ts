import { canBeTried, worksOutside } from '../../commands/command.ts';
import type { Endpoint, ReplyShape } from '../endpoints/endpoint.ts';
import type { Root } from '../endpoints/roots.ts';
import data from './reply-schemas.json' with { type: 'json' };

interface Reply {
  /** Its key among the components of the OpenAPI document. */
  readonly key: string;
  readonly description: string;
  /** Its type, where it is not JSON. */
  readonly media?: string;
  readonly schema: object;
}

/** The bodies of successful replies by shape; `none` has no body. */
export const replies: Readonly<Record<Exclude<ReplyShape, 'none'>, Reply>> = data.replies;

/** Other bodies, the last of them a line of an NDJSON reply. */
export const { errorReply, dryRunReply, dryRunOnNodesReply, streamLine, examples } = data;

export const rowsAt = (root: Root, endpoints: readonly Endpoint[]): readonly Endpoint[] =>
  endpoints.filter(({ only }) => only === undefined || only === root.prefix);

/** The resource group a row belongs to: the first segment of its path. */
export const groupOf = ({ path }: Endpoint): string => path.split('/')[1]!;

/** What GET at the root lists. */
export const resourceGroups = (root: Root, endpoints: readonly Endpoint[]): string[] =>
  [...new Set(rowsAt(root, endpoints).map(groupOf))].sort();

const parameter = /^\{(.+)\}$/;

export const parameterNames = (path: string): string[] =>
  path.split('/').flatMap((segment) => parameter.exec(segment)?.[1] ?? []);

/** The values the example's path has where the row's path has names. */
export function exampleParameters({ path, example }: Endpoint): ReadonlyMap<string, string> {
  const values = example.path.split('/');
  return new Map(
    path.split('/').flatMap((segment, position) => {
      const name = parameter.exec(segment)?.[1];
      return name === undefined ? [] : [[name, values[position] ?? ''] as const];
    }),
  );
}

/** A name for the row that is unique and stays the same: `putNodesByNoderangeRename`. */
export function operationId({ method, path }: Endpoint): string {
  const words = path.split('/').map((segment) => {
    const name = parameter.exec(segment)?.[1];
    return name === undefined ? capitalized(segment) : `By${capitalized(name)}`;
  });
  return `${method.toLowerCase()}${words.join('')}`;
}

const capitalized = (text: string): string =>
  text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');

/** The body has members for account and password, so nothing else need say who asks. */
export const carriesAccount = ({ body }: Endpoint): boolean => {
  const { properties = {} }: { properties?: object } = body ?? {};
  return 'userPW' in properties;
};

export const requiresMembers = ({ body }: Endpoint): boolean => {
  const { required }: { required?: unknown } = body ?? {};
  return required !== undefined;
};

/** Whoever would rather not wait for the end of such work is answered at once. */
export const canRespondAsync = ({ command }: Pick<Endpoint, 'command'>): boolean => worksOutside(command);

export const canDryRun = ({ command }: Endpoint): boolean => canBeTried(command);
