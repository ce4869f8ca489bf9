import { path } from '../client.ts';
import type { CliCommand } from '../invocation.ts';
import { agreed } from '../ask-yes.ts';
import { operandsOf, ownCommand } from '../own/own-command.ts';
import { type RowChange, writeRows } from '../own/row-diff.ts';

const usage = `Usage: muster undo ID [--dry-run] [--yes]

Takes back a change, by a change of its own; muster changes lists them. It is refused where a row is no longer as the change left
it. At a terminal it shows what it would do and asks first.

  --dry-run   only show what would be done
  --yes       do not ask`;

export const command: CliCommand = ownCommand(
  usage,
  { 'dry-run': 'flag', 'yes|y': 'flag' },
  async (invocation, options) => {
    const { client, stdout, terminal } = invocation;
    const [id = ''] = operandsOf(options, 1, 1, 'Name one change by its number; muster changes lists them.');
    const at = path('changes', id, 'revert');
    const dry = options.flag('dry-run');
    const asks = terminal.stdin && terminal.stdout && !options.flag('yes');
    if (dry || asks) {
      const { body } = await client.call('POST', at, { query: { dryRun: '1' } });
      await writeRows(invocation, (body as { changes: readonly RowChange[] }).changes);
      if (dry) return 0;
      if (!(await agreed(invocation, 'Take it back?', false))) {
        stdout.line('Nothing was changed.');
        return 1;
      }
    }
    const { body } = await client.call('POST', at);
    const { id: made, rows } = body as { id: number; rows: number };
    stdout.line(`Change ${id} is taken back by change ${made}: ${rows} row${rows === 1 ? '' : 's'}.`);
    return 0;
  },
);
