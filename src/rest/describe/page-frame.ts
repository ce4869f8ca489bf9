import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { home } from '../../core/home.ts';
import type { Root } from '../endpoints/roots.ts';
import { pagePolicy } from '../http/guarded-response.ts';
import { Html, html } from './html.ts';

const part = (name: string): string => readFileSync(join(home, 'share/reference-page', name), 'utf8');
const style = part('page.css');
const script = part('page.js');

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Every page is one file with its style, its script and an empty icon in it; no other style or script counts. */
export const framePolicy = pagePolicy({
  allowed: `; style-src ${hashOf(style)}; script-src ${hashOf(script)}; img-src data:`,
  formAction: "'self'",
});

/** A page of HTML that needs nothing else. */
export const framed = (title: string, content: Html): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
</head>
<body>
${content}
<script>${new Html(script)}</script>
</body>
</html>
`.text;

/** Searches the manual and the interface. */
export const searchForm = (
  { prefix }: Root,
  question = '',
): Html => html`<form action="${prefix}/manual/search" role="search">
<input type="search" name="q" value="${question}" maxlength="200" placeholder="Search the manual" aria-label="Search the manual">
</form>`;
