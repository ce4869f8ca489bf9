import { useState } from 'preact/hooks';
import { inPath } from '../api/client.ts';
import { texts } from '../texts/actions.ts';
import { AskForm, type AskProps, curlOf, quoted, useBegin } from './ask.tsx';

const words = texts.update;
type Step = keyof typeof words.choices;
const steps = Object.keys(words.choices) as Step[];
const options: Readonly<Record<Step, string>> = { updating: '', filesyncing: ' -F', sw: ' -S', postscript: ' -P' };

/** Brings running nodes up to date: files, packages, scripts. */
export function AskUpdate({ range, count, onClose }: AskProps) {
  const { error, isBusy, start } = useBegin(onClose);
  const [step, setStep] = useState<Step>('updating');
  const [given, setGiven] = useState('');
  const scripts = step === 'postscript' ? given.trim() : '';
  const path = `/nodes/${inPath(range)}/${step}`;
  const body = scripts === '' ? undefined : { scripts };
  const verb = words.title(count);
  return (
    <AskForm
      title={verb}
      about={range}
      harm={step === 'filesyncing' ? undefined : words.harm}
      verb={verb}
      isBusy={isBusy}
      error={error}
      line={`muster updatenode ${quoted(range)}${options[step]}${scripts === '' ? '' : ` ${quoted(scripts)}`}`}
      curl={curlOf('POST', path, body)}
      onSubmit={() => void start({ method: 'POST', path, ...(body && { body }), count })}
      onClose={onClose}
    >
      <fieldset class="choice">
        <legend>{words.what}</legend>
        {steps.map((each) => (
          <label key={each}>
            <input type="radio" name="step" checked={each === step} onChange={() => setStep(each)} />{' '}
            {words.choices[each]}
          </label>
        ))}
      </fieldset>
      {step === 'postscript' && (
        <label class="label">
          {words.scripts}
          <input
            class="field mono"
            spellcheck={false}
            value={given}
            onInput={(event) => setGiven(event.currentTarget.value)}
          />
        </label>
      )}
    </AskForm>
  );
}
