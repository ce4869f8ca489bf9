import { useEffect, useRef, useState } from 'preact/hooks';
import { get } from '../api/client.ts';
import { cluster } from '../model/cluster.ts';
import { forget, save, saved, select, selection } from '../model/selection.ts';
import { Store, useStore } from '../model/store.ts';
import { common } from '../texts/common.ts';
import { rangeBox as texts } from '../texts/frame.ts';

interface Choice {
  readonly text: string;
  readonly what: string;
  /** The whole range once it is chosen. */
  readonly range: string;
}

const groups = new Store<readonly string[]>([]);
const mostChoices = 9;

/** The last name of what was typed, which is what may be completed. */
function choicesFor(typed: string, kept: readonly string[], known: readonly string[]): Choice[] {
  const [, before = '', last = ''] = /^(.*[,@-])?([^,@]*)$/.exec(typed) ?? [];
  const of = (what: string, names: Iterable<string>): Choice[] => {
    const found: Choice[] = [];
    for (const text of names) {
      if (text !== last && text.startsWith(last)) found.push({ text, what, range: before + text });
      if (found.length >= mostChoices) break;
    }
    return found;
  };
  const whole = kept
    .filter((range) => range !== typed && range.startsWith(typed))
    .map((range) => ({ text: range, what: texts.kinds.saved, range }));
  const names = last === '' ? [] : of(texts.kinds.node, cluster.value.places.keys());
  return [...whole, ...of(texts.kinds.group, known), ...names].slice(0, mostChoices);
}

/** Selects nodes by a node range, as the command line does. */
export function RangeBox() {
  const { range, names, state, error } = useStore(selection);
  const kept = useStore(saved);
  const known = useStore(groups);
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    get<readonly string[]>('/groups').then(
      (found) => groups.set(found),
      // An account without rights on groups types their names.
      () => groups.set([]),
    );
  }, []);
  const choices = isOpen ? choicesFor(range, kept, known) : [];
  const take = (choice: Choice): void => {
    select(choice.range);
    setAt(-1);
    input.current?.focus();
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, choices.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, -1));
    else if ((event.key === 'Enter' || event.key === 'Tab') && choices[at]) take(choices[at]);
    else if (event.key === 'Enter') setOpen(false);
    else if (event.key === 'Escape' && isOpen && choices.length > 0) setOpen(false);
    else if (event.key === 'Escape') select('');
    else return;
    if (event.key !== 'Tab' || choices[at]) event.preventDefault();
  };
  const count =
    state === 'reading'
      ? texts.reading
      : state === 'known'
        ? common.nodes(names.size)
        : state === 'wrong'
          ? texts.wrong
          : '';
  return (
    <div class="selector" role="search">
      <label class="hidden" for="range">
        {texts.label}
      </label>
      <input
        id="range"
        ref={input}
        class="field"
        placeholder={texts.placeholder}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        role="combobox"
        aria-expanded={choices.length > 0}
        aria-controls="range-choices"
        aria-describedby="range-count"
        {...(at >= 0 ? { 'aria-activedescendant': `choice-${at}` } : {})}
        value={range}
        onInput={(event) => {
          select(event.currentTarget.value);
          setOpen(true);
          setAt(-1);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={press}
      />
      <span id="range-count" class={`count cut numbers ${state === 'wrong' ? 'wrong' : ''}`} aria-live="polite">
        {count}
      </span>
      {isOpen && (choices.length > 0 || error !== undefined) && (
        <ul id="range-choices" class="choices" role="listbox" aria-label={texts.completions}>
          {error !== undefined && <li class="wrong">{error}</li>}
          {choices.map((choice, i) => (
            <li
              key={choice.what + choice.text}
              id={`choice-${i}`}
              role="option"
              aria-selected={i === at}
              onMouseDown={(event) => {
                event.preventDefault();
                take(choice);
              }}
            >
              <b class="cut">{choice.text}</b>
              <span>{choice.what}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Keeps the range for later, or forgets it. */
export function SaveButton() {
  const { range } = useStore(selection);
  const isSaved = useStore(saved).includes(range);
  return (
    <button type="button" class="button quiet" onClick={() => (isSaved ? forget(range) : save(range))}>
      {isSaved ? texts.forget : texts.save}
    </button>
  );
}
