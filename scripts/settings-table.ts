// Says whether the table of settings in README.md is what the settings say; with --write, makes it so.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { allSettings } from '../src/config.ts';
import type { Settings } from '../src/core/settings.ts';
import { entriesOf } from '../src/load-settings.ts';

const readme = join(import.meta.dirname, '..', 'README.md');
const place = /(<!-- settings, .*-->\n)(\|.*\n)*/;
const code = (text: string | number) => `\`${text}\``;

export function settingsTable(settings: Settings): string {
  const rows = entriesOf(settings).map(({ name, variable, option, defaultText, setting }) => {
    const isList = Type.IsArray(setting);
    const inFile = setting.onlyVariable ? '' : ` ${code(name)}${isList ? ' (list)' : ''}`;
    const flag = option && `, ${code(`${option} ${setting.flag?.toUpperCase()}`)}${isList ? ' (repeatable)' : ''}`;
    const choices = Type.IsEnum(setting) ? `: ${setting.enum.map(code).join(', ')}` : '';
    return `|${inFile}${flag ?? ''} | ${code(variable)} | ${defaultText} | ${setting.description}${choices} |\n`;
  });
  return ['| in the file, option | environment | default | what it is |\n', '|---|---|---|---|\n', ...rows].join('');
}

export function withTable(text: string, settings: Settings): string {
  if (!place.test(text)) throw new Error('README.md has no line "<!-- settings, ... -->" that the table goes after.');
  return text.replace(place, (_, mark: string) => mark + settingsTable(settings));
}

if (import.meta.main) {
  const text = readFileSync(readme, 'utf8');
  const right = withTable(text, allSettings);
  if (process.argv.includes('--write')) writeFileSync(readme, right);
  else if (text !== right) {
    console.log('The table of settings in README.md is not what the settings say; npm run format writes it again.');
    process.exitCode = 1;
  }
}
