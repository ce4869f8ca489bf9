import { useId, useState } from 'preact/hooks';
import { get, inPath } from '../api/client.ts';
import type { NodesReply } from '../api/types.ts';
import { cluster } from '../model/cluster.ts';
import { byName } from '../model/ranges.ts';
import { Store, useStore } from '../model/store.ts';
import { grid as texts } from '../texts/nodes.ts';

/** Names of attributes that nodes have, for completion. */
const found = new Store<readonly string[]>([]);
/** Nodes that are asked for them, spread over the cluster. */
const asked = 24;

async function findNames(): Promise<void> {
  const { nodes } = cluster.value;
  const step = Math.max(1, Math.floor(nodes.length / asked));
  const names = nodes.filter((_, i) => i % step === 0).map(({ name }) => name);
  const reply = await get<NodesReply>(`/nodes/${inPath(names.slice(0, asked + 1).join(','))}`);
  const attributes = Object.values(reply).flatMap((each) =>
    // Secrets all look the same.
    Object.entries(each).flatMap(([name, value]) => (value === '********' ? [] : [name])),
  );
  found.set([...new Set(attributes)].sort(byName));
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  /** Those that are offered at once, with what they are called. */
  readonly known: Readonly<Record<string, string>>;
  onChange(value: string): void;
}

const other = '*other';

/** What decides colors or groups: one of some, or any attribute by its name. */
export function AttributeChoice({ label, value, known, onChange }: ChoiceProps) {
  const id = useId();
  const [isTyping, setTyping] = useState(false);
  const names = useStore(found);
  const choose = (chosen: string): void => {
    setTyping(chosen === other);
    if (chosen !== other) return onChange(chosen);
    // Without them names are typed in full.
    if (names.length === 0) findNames().catch(() => found.set([]));
  };
  return (
    <span class="inline-label wrap">
      <label for={id}>{label}</label>
      <select
        id={id}
        class="field"
        value={isTyping ? other : value}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        {Object.entries(known).map(([each, name]) => (
          <option key={each} value={each}>
            {name}
          </option>
        ))}
        {!Object.hasOwn(known, value) && <option value={value}>{value}</option>}
        <option value={other}>{texts.otherAttribute}</option>
      </select>
      {isTyping && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const [input] = event.currentTarget.querySelectorAll('input');
            const name = input!.value.trim();
            setTyping(false);
            if (name !== '') onChange(name);
          }}
        >
          <input
            class="field mono typed"
            list={`${id}-names`}
            aria-label={texts.byAttribute(label)}
            placeholder={texts.attributeHint}
            autofocus
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
          />
          <datalist id={`${id}-names`}>
            {names.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </form>
      )}
    </span>
  );
}
