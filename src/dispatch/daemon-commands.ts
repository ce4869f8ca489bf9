import { Type } from 'typebox';
import type { Act, Answer, Command, Query } from '../commands/command.ts';
import { commandFor } from '../commands/registry.ts';
import { inSlices } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { type DaemonKind, daemonKinds, daemonTopic, differentVersions } from '../names/index.ts';
import { admit, type Call } from './admit.ts';
import { redacted } from './redacted.ts';
import type { DispatchServices } from './request.ts';

const orderSchema = Type.Object({
  command: Type.String(),
  args: Type.Unknown(),
  run: Type.String(),
  client: Type.String(),
  permission: Type.Object({
    user: Type.String(),
    scope: Type.Optional(
      Type.Object({
        id: Type.String(),
        commands: Type.Optional(Type.String()),
        noderange: Type.Optional(Type.String()),
      }),
    ),
    addresses: Type.Array(Type.String()),
    command: Type.String(),
    words: Type.Array(Type.String()),
    range: Type.String(),
  }),
});

/** Answers that are plain data. */
const answerSchema = Type.Union([
  Type.Object({
    shape: Type.Literal('none'),
    messages: Type.Optional(Type.Array(Type.String())),
    notes: Type.Optional(Type.Array(Type.String())),
  }),
  Type.Object({ shape: Type.Literal('value'), value: Type.Unknown() }),
]);

const topicOf = (daemon: DaemonKind) => daemonTopic(`command.${daemon}`, orderSchema, answerSchema);
const topics = { names: topicOf('names'), dhcp: topicOf('dhcp') } as const;

/** The answer of the server that has what the command is about; undefined: this one has it. Everything else of the request is done here. */
export function atDaemon(
  { services, request, run, command, permission }: Call<Act<unknown> | Query<unknown>>,
  { revision }: Snapshot,
): Promise<Answer> | undefined {
  const { daemon } = command;
  if (daemon === undefined || services.daemons.isHere(daemon)) return undefined;
  const { args, client } = request;
  const order = { command: command.name, args, run: run.id, client, permission };
  // Acts outlive the client.
  const how = command.kind === 'act' ? { look: lookAfter[daemon] } : { signal: request.signal() };
  return services.daemons.ask(daemon, topics[daemon], order, { revision, ...how });
}

const lookAfter: Readonly<Record<DaemonKind, string>> = {
  names: 'Look at the hosts file and DNS there, or send the request again: doing it twice does no harm.',
  dhcp: 'GET /tables/dhcphost/rows lists the reservations. You can send the request again: doing it twice does no harm.',
};

/** Carries out what other servers were asked for. The policy is asked here too: it may have changed since. */
export function answerDaemonCommands(services: DispatchServices): void {
  for (const daemon of daemonKinds)
    services.daemons.answer(daemon, topics[daemon], async (order) => {
      const { args, run, client } = order;
      const permission = { ...order.permission, scope: order.permission.scope };
      const command = commandFor(order.command, args).command as Command<unknown>;
      if (!('daemon' in command) || command.daemon !== daemon) throw differentVersions();
      const { words, user, scope: tokenScope } = permission;
      const unasked = { token: undefined, login: undefined, expectNodes: undefined };
      const request = {
        ...unasked,
        args,
        words,
        user,
        scope: tokenScope,
        client,
        signal: () => new AbortController().signal,
      };
      const snapshot = services.store.current;
      const scope = await inSlices(admit({ services, request, run: { id: run }, command, permission }, snapshot));
      return redacted(snapshot, scope, async () => command.run(snapshot, args, scope));
    });
}
