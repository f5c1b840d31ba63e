import { releaseVersion } from '../../core/platform/version.ts'
import { inlineSource, staticAnswer } from './static-answer.ts'
import type { Answer } from './write-answer.ts'

const style = `
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
footer { margin-top: 3rem; padding-bottom: 2rem; color: var(--soft); font-size: .9rem; }
`

const policy = [
  "default-src 'none'",
  `style-src ${inlineSource(style)}`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='7' fill='%230b6070'/%3E%3Cpath d='M16 6v17M9 17c0 5 4 8 7 8s7-3 7-8M11 11h10' stroke='white' stroke-width='2.6' fill='none' stroke-linecap='round'/%3E%3C/svg%3E"

const escape = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)

const html = (baseUrl: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Moorage</title>
<link rel="icon" href="${icon}">
<style>${style}</style>
</head>
<body>
<main>
<h1>Moorage</h1>
<p class="lead">One API for users and organizations, roles, clusters and everything that is bound to them. The service is running.</p>
<ul class="links">
<li><a href="/api/v1/docs">API documentation</a><span>Every route, with a form to try it</span></li>
<li><a href="/api/v1/openapi.json">OpenAPI description</a><span>For code generators and tools</span></li>
<li><a href="/api/v1/version">Version</a><span>${escape(releaseVersion)}</span></li>
</ul>
<h2>First call</h2>
<p>Make an access token with your user name and password; it is shown once.</p>
<pre tabindex="0" role="region" aria-label="Command"><code>curl -u admin ${escape(baseUrl)}/api/v1/users/admin/tokens \\
  -H 'Content-Type: application/json' -d '{"name": "first"}'</code></pre>
<p>Then send the token, which stands in the answer as <code>sha1</code>, with every call.</p>
<pre tabindex="0" role="region" aria-label="Command"><code>curl -H 'Authorization: token YOUR_TOKEN' ${escape(baseUrl)}/api/v1/user</code></pre>
<h2>Health</h2>
<p><code>/livez</code>, <code>/readyz</code> and <code>/metrics</code> answer on a listener of their own, <code>MOORAGE_OPS_LISTEN</code>, which is not public unless the operator makes it so.</p>
</main>
<footer>Moorage ${escape(releaseVersion)}</footer>
</body>
</html>
`

/** What a browser finds at the service's address: what this is and where to go on. */
export const startPage = (baseUrl: string): Answer => staticAnswer('text/html; charset=utf-8', html(baseUrl), { 'Content-Security-Policy': policy })
