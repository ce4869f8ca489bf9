import { useState } from 'preact/hooks';
import { get, inPath, Refusal } from '../api/client.ts';
import { Badge, Card, PageTitle, Read, type Tone } from '../design/parts.tsx';
import { momentOf } from '../model/moments.ts';
import { common } from '../texts/common.ts';
import { audit as texts } from '../texts/audit.ts';
import { TextField } from './write-dialog.tsx';

type Entry = Readonly<Record<string, string>>;
interface Filter {
  readonly userid: string;
  readonly command: string;
  readonly noderange: string;
  readonly status: string;
  readonly from: string;
  readonly to: string;
}

const empty: Filter = { userid: '', command: '', noderange: '', status: '', from: '', to: '' };
/** What the server finds; the rest is looked for here. */
const exact = ['userid', 'command'] as const;
const perPage = 100;

async function find(filter: Filter, signal: AbortSignal): Promise<readonly Entry[]> {
  const keys = exact.flatMap((column) => (filter[column] === '' ? [] : [`${column}=${filter[column]}`]));
  const path = `/tables/auditlog/rows${keys.length === 0 ? '' : `/${inPath(keys.join(','))}`}`;
  let entries: readonly Entry[];
  try {
    ({ auditlog: entries = [] } = await get<Readonly<Record<string, readonly Entry[]>>>(path, signal));
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return [];
    throw error;
  }
  const [from, to] = [filter.from, filter.to].map((time) => (time === '' ? undefined : new Date(time).toISOString()));
  return entries
    .filter(({ noderange = '', audittime = '', status = '' }) => {
      const isInTime = (from === undefined || audittime >= from) && (to === undefined || audittime <= to);
      return isInTime && noderange.includes(filter.noderange) && status.startsWith(filter.status);
    })
    .sort((a, b) => (a['audittime']! < b['audittime']! ? 1 : -1));
}

const tones: Readonly<Record<string, Tone>> = { Allowed: 'ok', Denied: 'critical', Failed: 'warning' };
/** Dry runs and tokens with limits are named behind the result. */
const toneOf = (status: string): Tone => tones[status.split(' ', 1)[0]!] ?? '';

const Line = ({
  entry: { audittime = '', userid, command, noderange, args, status = '', clientname },
}: {
  entry: Entry;
}) => (
  <tr>
    <td class="nowrap">
      <time dateTime={audittime}>{momentOf(audittime)}</time>
    </td>
    <td class="nowrap">{userid}</td>
    <td class="mono nowrap">{command}</td>
    <td class="mono">
      <div class="some-lines" title={noderange}>
        {noderange}
      </div>
    </td>
    <td class="mono">
      <div class="some-lines" title={args}>
        {args}
      </div>
    </td>
    <td>
      <Badge tone={toneOf(status)}>{status}</Badge>
    </td>
    <td class="muted nowrap">{clientname}</td>
  </tr>
);

function Listing({ entries }: { entries: readonly Entry[] }) {
  const [first, setFirst] = useState(0);
  const shown = entries.slice(first, first + perPage);
  if (shown.length === 0) return <p class="empty">{texts.none}</p>;
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label={texts.records}>
        <table class="grid-table audit">
          <thead>
            <tr>
              {texts.columns.map((name) => (
                <th key={name}>{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((entry) => (
              <Line key={entry['recid']} entry={entry} />
            ))}
          </tbody>
        </table>
      </div>
      <div class="row body numbers">
        <span class="muted grow">{common.partOf(first + 1, first + shown.length, entries.length)}</span>
        <button type="button" class="button" disabled={first === 0} onClick={() => setFirst(first - perPage)}>
          {texts.newer}
        </button>
        <button
          type="button"
          class="button"
          disabled={first + perPage >= entries.length}
          onClick={() => setFirst(first + perPage)}
        >
          {texts.older}
        </button>
      </div>
    </>
  );
}

/** What was asked for, by whom, and what came of it. */
export function AuditLog() {
  const [typed, setTyped] = useState(empty);
  const [asked, setAsked] = useState({ filter: empty, turn: 0 });
  const set = (name: keyof Filter, value: string): void => setTyped({ ...typed, [name]: value });
  const field = (name: keyof Filter, hint?: string) => (
    <TextField
      label={texts.fields[name]}
      hint={hint}
      value={typed[name]}
      onInput={(value) => set(name, value.trim())}
    />
  );
  const of = JSON.stringify(asked);
  return (
    <>
      <PageTitle title={texts.title} about={texts.about} />
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          setAsked({ filter: typed, turn: asked.turn + 1 });
        }}
      >
        {field('userid', texts.exactHint)}
        {field('command', texts.exactHint)}
        {field('noderange', texts.nodesHint)}
        <div class="label">
          <label for="audit-result">{texts.fields.status}</label>
          <select
            id="audit-result"
            class="field"
            value={typed.status}
            onChange={(event) => set('status', event.currentTarget.value)}
          >
            <option value="">{texts.anyResult}</option>
            {texts.results.map((result) => (
              <option key={result}>{result}</option>
            ))}
          </select>
        </div>
        {(['from', 'to'] as const).map((name) => (
          <div key={name} class="label">
            <label for={`audit-${name}`}>{texts.fields[name]}</label>
            <input
              id={`audit-${name}`}
              class="field"
              type="datetime-local"
              value={typed[name]}
              onInput={(event) => set(name, event.currentTarget.value)}
            />
          </div>
        ))}
        <button class="button primary">{texts.find}</button>
      </form>
      <Read key={of} of={of} read={(signal) => find(asked.filter, signal)}>
        {(entries) => (
          <Card title={texts.count(entries.length)}>
            <Listing entries={entries} />
          </Card>
        )}
      </Read>
    </>
  );
}
