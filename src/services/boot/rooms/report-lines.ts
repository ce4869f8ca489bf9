import { Fault } from '../../../core/errors.ts';
import { type BootNote, type ReportStep, reportSteps } from '../reports.ts';

const longestLine = 1_000;
const mostLines = 200;

/** Lines `STEP[ text]` that a node sends of its boot. */
export function reportLines(body: string, at: Date): BootNote[] {
  const lines = body.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) throw new Fault('malformed', 'The report is empty: send lines "STEP text".');
  if (lines.length > mostLines) throw new Fault('too-large', `A report has at most ${mostLines} lines.`);
  return lines.map((line) => {
    const [step = '', ...words] = line.trim().slice(0, longestLine).split(' ');
    if (!(reportSteps as readonly string[]).includes(step))
      throw new Fault('malformed', `A line begins with one of ${reportSteps.join(', ')}.`);
    const text = words
      .join(' ')
      .replaceAll(/[^ -~]/g, '?')
      .trim();
    return { step: step as ReportStep, text: text === '' ? undefined : text, at, source: 'report' };
  });
}
