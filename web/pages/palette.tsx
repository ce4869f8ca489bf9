import { useEffect, useRef, useState } from 'preact/hooks';
import { Dialog } from '../design/parts.tsx';
import { cluster } from '../model/cluster.ts';
import { go } from '../model/route.ts';
import { saved, select } from '../model/selection.ts';
import { palette as texts } from '../texts/frame.ts';

/** Something that can be called by its name. */
export interface Call {
  readonly name: string;
  /** What kind of thing it is, or its key. */
  readonly what: string;
  run(): void;
}

const mostShown = 12;

/** Calls whose names have all words that were typed; nodes only once something is. */
function found(typed: string, calls: readonly Call[]): Call[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (name: string): boolean => words.every((word) => name.toLowerCase().includes(word));
  const ranges = saved.value.map((range) => ({ name: range, what: texts.kinds.selection, run: () => select(range) }));
  const shown = [...calls, ...ranges].filter(({ name }) => has(name)).slice(0, mostShown);
  if (words.length === 0) return shown;
  for (const { name } of cluster.value.nodes) {
    if (shown.length >= mostShown) break;
    const path = `/nodes/${encodeURIComponent(name)}`;
    if (has(name)) shown.push({ name, what: texts.kinds.node, run: () => go(path) });
    else if (has(texts.consoleOf(name)))
      shown.push({ name, what: texts.kinds.console, run: () => go(`${path}/console`) });
  }
  return shown;
}

/** Every page, node and setting by its name. */
export function Palette({ calls, onClose }: { calls: readonly Call[]; onClose(): void }) {
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const choices = found(typed, calls);
  useEffect(() => list.current?.children[at]?.scrollIntoView({ block: 'nearest' }), [at]);
  const take = (choice: Call | undefined): void => {
    if (!choice) return;
    onClose();
    choice.run();
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, choices.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0));
    else if (event.key === 'Enter') take(choices[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog label={texts.open} onClose={onClose}>
      <div class="palette">
        <input
          class="field"
          role="combobox"
          aria-label={texts.input}
          aria-expanded={choices.length > 0}
          aria-controls="palette-choices"
          {...(choices[at] ? { 'aria-activedescendant': `call-${at}` } : {})}
          placeholder={texts.input}
          autofocus
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          value={typed}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={press}
        />
        <ul ref={list} id="palette-choices" role="listbox" aria-label={texts.choices}>
          {choices.map((choice, i) => (
            <li
              key={`${choice.what} ${choice.name}`}
              id={`call-${i}`}
              role="option"
              aria-selected={i === at}
              onClick={() => take(choice)}
            >
              <span class="cut grow">{choice.name}</span>
              <span class="muted small">{choice.what}</span>
            </li>
          ))}
        </ul>
        {choices.length === 0 && <p class="muted body">{texts.none}</p>}
      </div>
    </Dialog>
  );
}
