import { hash } from 'node:crypto'
import type { Answer } from '../answer/write-answer.ts'
import { noneMatch } from '../request/conditional.ts'

/** Returns an answer whose bytes never change while the process runs. It is serialised and tagged once. */
export const staticAnswer = (contentType: string, body: string | Uint8Array, headers: Answer['headers'] = {}): Answer => {
  const etag = `"${hash('sha256', body, 'base64url').slice(0, 22)}"`
  const all = { 'Content-Type': contentType, 'Cache-Control': 'no-cache', ETag: etag, ...headers }
  const unchanged: Answer = { status: 304, headers: { ...headers, ETag: etag, 'Cache-Control': 'no-cache' }, body: undefined }
  return { status: 200, headers: all, body, notModifiedFor: (header) => (noneMatch(header, etag) ? undefined : unchanged) }
}

/** Returns the `sha256-...` source by which a content security policy allows one inline style or script. */
export const inlineSource = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`

/** The single style of the pages for users. */
export const pageStyle = `
:root { color-scheme: light dark; --ink: #14212b; --soft: #52636f; --paper: #f6f8f9; --card: #fff; --line: #d5dee4; --accent: #0b6070; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eef1; --soft: #a3b4bf; --paper: #10181d; --card: #18232a; --line: #2d3d47; --accent: #6fcbdc; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.6 system-ui, sans-serif; }
main, footer { max-width: 46rem; margin: 0 auto; padding: 0 1.25rem; }
h1 { margin: 3.5rem 0 .25rem; font-size: 2.4rem; line-height: 1.15; letter-spacing: -.02em; }
h2 { margin: 2.5rem 0 .5rem; font-size: 1.2rem; }
.lead { margin: 0 0 2rem; font-size: 1.15rem; color: var(--soft); }
a { color: var(--accent); text-underline-offset: .18em; }
a:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; border-radius: 2px; }
ul.links { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: .9rem; margin: 0; padding: 0; list-style: none; }
ul.links li { padding: 1rem 1.1rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
ul.links a { font-weight: 600; }
ul.links span { display: block; color: var(--soft); font-size: .92rem; }
pre { overflow-x: auto; padding: 1rem 1.1rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; font-size: .88rem; }
code { font-family: ui-monospace, monospace; }
form { max-width: 26rem; }
form p { margin: 0 0 1rem; }
label { display: block; font-weight: 600; }
label.check { font-weight: 400; }
input[type=text], input[type=password], input[type=email] { display: block; width: 100%; margin-top: .25rem; padding: .55rem .7rem; font: inherit; color: inherit; background: var(--card); border: 1px solid var(--soft); border-radius: .4rem; }
button { padding: .55rem 1.2rem; font: inherit; font-weight: 600; color: var(--paper); background: var(--accent); border: 1px solid var(--accent); border-radius: .4rem; cursor: pointer; }
button[disabled] { opacity: .6; cursor: default; }
input:focus-visible, button:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.hint { margin: .25rem 0 0; color: var(--soft); font-size: .92rem; }
.message { min-height: 1.6rem; margin: 0 0 1rem; }
.message.problem { padding-left: .8rem; border-left: 4px solid #b3261e; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem; }
dt { color: var(--soft); }
dd { margin: 0; }
h2[tabindex]:focus { outline: none; }
[hidden] { display: none !important; }
footer { margin-top: 3rem; padding-bottom: 2rem; color: var(--soft); font-size: .9rem; }
`

/** The icon of the browser tab. */
export const pageIcon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='7' fill='%230b6070'/%3E%3Cpath d='M16 6v17M9 17c0 5 4 8 7 8s7-3 7-8M11 11h10' stroke='white' stroke-width='2.6' fill='none' stroke-linecap='round'/%3E%3C/svg%3E"

/** Escapes text for HTML, including attributes. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
