import { useState } from 'preact/hooks';
import { get, inPath, write } from '../api/client.ts';
import type { ChangedRow, NodesReply } from '../api/types.ts';
import { Badge, Card, Dialog, Message, Read, TableHead } from '../design/parts.tsx';
import { changesSeen } from '../model/live.ts';
import { useStore } from '../model/store.ts';
import { attributes as texts } from '../texts/nodes.ts';
import { common } from '../texts/common.ts';
import { writing } from '../texts/writing.ts';
import { Difference } from './changes.tsx';

interface Origin {
  readonly source?: string;
  readonly row?: string;
  readonly pattern?: string;
}

interface Shown {
  readonly values: Readonly<Record<string, string>>;
  readonly origins: Readonly<Record<string, Origin>>;
}

/** Requests that go out at a time. */
const atOnce = 6;

async function readAll(name: string, signal: AbortSignal): Promise<Shown> {
  const reply = await get<NodesReply>(`/nodes/${inPath(name)}`, signal);
  const values = reply[name] ?? {};
  const origins: Record<string, Origin> = {};
  const left = Object.keys(values);
  const worker = async (): Promise<void> => {
    for (let attribute = left.shift(); attribute !== undefined; attribute = left.shift()) {
      const path = `/nodes/${inPath(name)}/explain/${inPath(attribute)}`;
      const found = await get<Readonly<Record<string, Origin>>>(path, signal);
      origins[attribute] = found[name] ?? {};
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return { values, origins };
}

/** Where a value comes from. */
function OriginBadge({ origin, name }: { origin: Origin | undefined; name: string }) {
  if (!origin?.source) return null;
  const where =
    origin.source === 'group'
      ? texts.fromGroup(origin.row ?? '')
      : origin.row === name || origin.source === 'node'
        ? texts.fromNode
        : origin.source;
  const title = origin.pattern === undefined ? where : texts.byPattern(where, origin.pattern);
  return (
    <span class="row" title={title}>
      <Badge tone={origin.source === 'group' ? 'accent' : ''}>
        <span class="cut">{where}</span>
      </Badge>
      {origin.pattern !== undefined && <span class="muted small">{texts.computed}</span>}
    </span>
  );
}

export function AttributeTable({ name }: { name: string }) {
  const seen = useStore(changesSeen);
  const [edited, setEdited] = useState<{ attribute: string; value: string }>();
  return (
    <Card
      title={texts.title}
      side={
        <button type="button" class="button quiet" onClick={() => setEdited({ attribute: '', value: '' })}>
          {texts.add}
        </button>
      }
    >
      <Read of={`${name} ${seen}`} read={(signal) => readAll(name, signal)}>
        {({ values, origins }) => (
          <table class="grid-table">
            <TableHead columns={texts.columns} />
            <tbody>
              {Object.entries(values).map(([attribute, value]) => (
                <tr key={attribute}>
                  <td class="muted">{attribute}</td>
                  <td>
                    <button
                      type="button"
                      class="edit-cell"
                      aria-label={texts.changeOne(attribute, value)}
                      onClick={() => setEdited({ attribute, value })}
                    >
                      {value}
                    </button>
                  </td>
                  <td>
                    <OriginBadge origin={origins[attribute]} name={name} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Read>
      {edited && <Edit name={name} {...edited} onClose={() => setEdited(undefined)} />}
    </Card>
  );
}

interface EditProps {
  readonly name: string;
  readonly attribute: string;
  readonly value: string;
  onClose(): void;
}

interface DryRun {
  readonly changes?: readonly ChangedRow[];
}

/** Changes one attribute: first it shows which rows would be written, then it writes exactly these. */
function Edit({ name, attribute: before, value: was, onClose }: EditProps) {
  const [attribute, setAttribute] = useState(before);
  const [value, setValue] = useState(was === '********' ? '' : was);
  const [tried, setTried] = useState<{ readonly rows: readonly ChangedRow[] }>();
  const [error, setError] = useState('');
  const path = `/nodes/${inPath(name)}`;
  const body = { [attribute]: value };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setError('');
    try {
      if (!tried) {
        const { changes = [] } = await write<DryRun>('PUT', `${path}?dryRun=1`, { body });
        return setTried({ rows: changes });
      }
      await write('PUT', path, { body });
      onClose();
    } catch (failed) {
      setError((failed as Error).message);
    }
  };
  return (
    <Dialog label={texts.change} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <h1>{before === '' ? texts.headingAdd(name) : texts.heading(name, before)}</h1>
        {before === '' && (
          <label class="label">
            {texts.attribute}
            <input
              class="field mono"
              required
              autofocus
              spellcheck={false}
              autocapitalize="none"
              value={attribute}
              onInput={(event) => {
                setAttribute(event.currentTarget.value.trim());
                setTried(undefined);
              }}
            />
          </label>
        )}
        <label class="label">
          {texts.value}
          <input
            class="field mono"
            autofocus={before !== ''}
            spellcheck={false}
            autocapitalize="none"
            value={value}
            onInput={(event) => {
              setValue(event.currentTarget.value);
              setTried(undefined);
            }}
          />
        </label>
        {tried && tried.rows.length === 0 && <Message>{writing.nothing}</Message>}
        {tried && tried.rows.length > 0 && <Difference rows={tried.rows} />}
        {error !== '' && <Message tone="critical">{error}</Message>}
        <div class="row">
          <button class="button primary" disabled={tried?.rows.length === 0 || attribute === ''}>
            {tried ? writing.write : writing.show}
          </button>
          <button type="button" class="button" onClick={onClose}>
            {common.cancel}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
