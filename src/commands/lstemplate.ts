import { Type } from 'typebox';
import { withoutSecrets } from '../objects/secret-names.ts';
import { isShipped, nodeTemplates, templateAttributes } from '../objects/templates.ts';
import { nodeType } from '../objects/types.ts';
import { noSelection, query } from './command.ts';

/** Templates are read with lsdef's option --template, so the policy knows this by that name. */
export const lstemplate = query({
  name: 'lsdef',
  args: Type.Object({ template: Type.Optional(Type.String({ description: 'without it their names are listed' })) }),
  line: ({ template }) => ['--template', template === undefined ? '-a' : withoutSecrets(template)],
  select(_snapshot, { template }) {
    if (template === undefined || isShipped(nodeType, template)) return noSelection;
    return { objects: [template], nodes: [template] };
  },
  run(snapshot, { template }) {
    if (template === undefined) return { shape: 'list', items: [...nodeTemplates.keys()] };
    const attributes = templateAttributes(snapshot, nodeType, template);
    return { shape: 'objects', names: [template], attributes: () => attributes };
  },
});
