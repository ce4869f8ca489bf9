import { useEffect, useState } from 'preact/hooks';
import { get, inPath, write } from '../api/client.ts';
import { Badge, Card, Message, Read } from '../design/parts.tsx';
import { askPower, cluster, nodeNamed } from '../model/cluster.ts';
import { toneOfStatus } from '../model/colors.ts';
import { linkTo } from '../model/route.ts';
import { useStore } from '../model/store.ts';
import { common } from '../texts/common.ts';
import { nodePage as texts } from '../texts/nodes.ts';
import { Actions } from './actions.tsx';
import { ChangeListing } from './changes.tsx';
import { AttributeTable } from './node-attributes.tsx';
import { powerTone } from './nodes.tsx';
import { Vitals } from './vitals.tsx';

/** What one node answers to a reading: names and values, or lines. */
type Reading = Readonly<Record<string, Readonly<Record<string, unknown>> | readonly string[]>>;

/** Read when somebody asks: each is a question to the hardware, or long. */
const readings = Object.keys(texts.readings) as (keyof typeof texts.readings)[];
/** What muster itself has seen, also of nodes without a BMC. */
const ofServer = 'boot';

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueText).join('\n');
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, each]) => common.pair(name, valueText(each)))
    .join(', ');
}

/** What is empty says nothing, such as the steps of a boot that has not begun. */
const isEmpty = (value: unknown): boolean =>
  value === '' || value === null || (Array.isArray(value) && value.length === 0);

function Values({ value = [], nothing }: { value: Reading[string] | undefined; nothing: string }) {
  const entries = Object.entries(value).filter(([, each]) => !isEmpty(each));
  if (entries.length === 0) return <p class="body muted">{nothing}</p>;
  if (Array.isArray(value))
    return (
      <div class="body">
        <pre class="code">{value.join('\n')}</pre>
      </div>
    );
  return (
    <table class="grid-table">
      <tbody>
        {entries.map(([name, each]) => (
          <tr key={name}>
            <td class="muted name">{name}</td>
            <td>
              <span class={Array.isArray(each) ? 'mono' : ''}>{valueText(each)}</span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Reader({ name, hasHardware }: { name: string; hasHardware: boolean }) {
  const [chosen, setChosen] = useState<keyof typeof texts.readings>();
  return (
    <Card title={texts.look}>
      <div class="body row wrap" role="group" aria-label={texts.whatToRead}>
        {readings
          .filter((each) => hasHardware || each === ofServer)
          .map((each) => (
            <button
              key={each}
              type="button"
              class={`button ${chosen === each ? 'primary' : ''}`}
              aria-pressed={chosen === each}
              onClick={() => setChosen(each)}
            >
              {texts.readings[each]}
            </button>
          ))}
      </div>
      {chosen && (
        <Read key={chosen} of={chosen} read={(signal) => get<Reading>(`/nodes/${inPath(name)}/${chosen}`, signal)}>
          {(reply) => (
            <Values value={reply[name]} nothing={chosen === 'eventlog' ? texts.noEvents : texts.nothingRead} />
          )}
        </Read>
      )}
      {!chosen && <p class="body muted">{hasHardware ? texts.lookHint : texts.noHardware}</p>}
    </Card>
  );
}

function Light({ name }: { name: string }) {
  const [said, setSaid] = useState('');
  const set = async (action: 'on' | 'off'): Promise<void> => {
    try {
      await write('PUT', `/nodes/${inPath(name)}/beacon`, { body: { action } });
      setSaid(texts.lightIs(action));
    } catch (failed) {
      setSaid((failed as Error).message);
    }
  };
  return (
    <>
      <button type="button" class="button" onClick={() => void set('on')}>
        {texts.lightOn}
      </button>
      <button type="button" class="button" onClick={() => void set('off')}>
        {texts.lightOff}
      </button>
      {said !== '' && (
        <span class="muted small" role="status">
          {said}
        </span>
      )}
    </>
  );
}

/** Everything about one node. */
export function NodePage({ name }: { name: string }) {
  const known = useStore(cluster);
  const node = nodeNamed(known, name);
  const [problem, setProblem] = useState('');
  const hasHardware = Boolean(node?.attributes['mgt']);
  useEffect(() => {
    if (node && hasHardware) askPower([node]).catch((failed: Error) => setProblem(failed.message));
  }, [name, hasHardware]);
  if (!node)
    return known.state === 'loading' ? (
      <p class="muted">{common.reading}</p>
    ) : (
      <div class="card empty">
        <h1>{texts.missing(name)}</h1>
        <p>{texts.missingWhy}</p>
      </div>
    );
  const { power, attributes, trouble } = node;
  return (
    <>
      <header>
        <h1>{name}</h1>
        {power !== undefined && <Badge tone={powerTone(power)}>{power}</Badge>}
        {attributes['status'] && (
          <Badge tone={toneOfStatus(attributes['status'])}>
            <span class="cut">{attributes['status']}</span>
          </Badge>
        )}
        <span class="grow" />
        <div class="node-tools">
          <a class="button" href={linkTo(`/nodes/${inPath(name)}/console`)}>
            {common.console}
          </a>
          <Actions range={name} count={1} />
          {hasHardware && <Light name={name} />}
        </div>
      </header>
      {problem !== '' && <Message tone="critical">{problem}</Message>}
      {trouble !== undefined && (
        <Message tone={node.severity === 'warning' ? 'warning' : 'critical'}>{trouble}</Message>
      )}
      <div class="node-page">
        <AttributeTable name={name} />
        <div class="column">
          {hasHardware && <Vitals name={name} />}
          <Reader name={name} hasHardware={hasHardware} />
          <Card title={common.history}>
            <ChangeListing query={`&noderange=${inPath(name)}`} />
          </Card>
        </div>
      </div>
    </>
  );
}
