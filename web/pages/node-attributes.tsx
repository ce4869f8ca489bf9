import { useRef, useState } from 'preact/hooks';
import { get, getAt, inPath } from '../api/client.ts';
import type { NodesReply } from '../api/types.ts';
import { Badge, Card, Read, TableHead } from '../design/parts.tsx';
import { changesSeen } from '../model/live.ts';
import { mask } from '../model/sheet.ts';
import { useStore } from '../model/store.ts';
import { attributes as texts } from '../texts/nodes.ts';
import { TextField, WriteDialog } from './write-dialog.tsx';

interface Origin {
  readonly source?: string;
  readonly row?: string;
  readonly pattern?: string;
}

interface Shown {
  readonly values: Readonly<Record<string, string>>;
  readonly origins: Readonly<Record<string, Origin>>;
}

/** What is longer may not be there as a whole: the page shows its first lines. */
const longValue = 120;

/** Requests that go out at a time. */
const atOnce = 6;

async function readAll(name: string, signal: AbortSignal): Promise<Shown & { readonly revision: number }> {
  const { value: reply, revision } = await getAt<NodesReply>(`/nodes/${inPath(name)}`, signal);
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
  return { values, origins, revision };
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
    <span class="row wrap" title={title}>
      <Badge tone={origin.source === 'group' ? 'accent' : ''}>
        <span class="cut">{where}</span>
      </Badge>
      {origin.pattern !== undefined && <span class="muted small nowrap">{texts.computed}</span>}
    </span>
  );
}

export function AttributeTable({ name }: { name: string }) {
  const seen = useStore(changesSeen);
  const [edited, setEdited] = useState<Omit<EditProps, 'name' | 'onClose'>>();
  const readAt = useRef<number>(undefined);
  const edit = (attribute: string, value: string): void => setEdited({ attribute, value, revision: readAt.current });
  const read = async (signal: AbortSignal): Promise<Shown> => {
    const { revision, ...shown } = await readAll(name, signal);
    readAt.current = revision;
    return shown;
  };
  return (
    <Card
      title={texts.title}
      side={
        <button type="button" class="button quiet" onClick={() => edit('', '')}>
          {texts.add}
        </button>
      }
    >
      <Read of={`${name} ${seen}`} read={read}>
        {({ values, origins }) => (
          <table class="grid-table attributes">
            <TableHead columns={texts.columns} />
            <tbody>
              {Object.entries(values).map(([attribute, value]) => (
                <tr key={attribute}>
                  <td class="muted name">{attribute}</td>
                  <td>
                    <button
                      type="button"
                      class="edit-cell"
                      aria-label={texts.changeOne(attribute, value)}
                      onClick={() => edit(attribute, value)}
                    >
                      <span class="some-lines" title={value.length > longValue ? value : undefined}>
                        {value}
                      </span>
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
  /** The change up to which it was read; undefined: nothing was read yet. */
  readonly revision: number | undefined;
  onClose(): void;
}

/** Changes one attribute: first it shows which rows would be written, then it writes exactly these. */
function Edit({ name, attribute: before, value: was, revision, onClose }: EditProps) {
  const [attribute, setAttribute] = useState(before);
  const [value, setValue] = useState(was === mask ? '' : was);
  const definitions = [{ type: 'node', names: name, attributes: { [attribute]: value } }];
  return (
    <WriteDialog
      title={before === '' ? texts.headingAdd(name) : texts.heading(name, before)}
      writing={
        attribute === '' ? undefined : { method: 'PUT', path: '/definitions', body: { definitions, since: revision } }
      }
      onClose={onClose}
      onWritten={() => {}}
    >
      {before === '' && (
        <TextField
          label={texts.attribute}
          value={attribute}
          isFirst
          isRequired
          onInput={(text) => setAttribute(text.trim())}
        />
      )}
      <TextField label={texts.value} value={value} isFirst={before !== ''} onInput={setValue} />
    </WriteDialog>
  );
}
