import { releaseVersion } from '../../../core/platform/version.ts'
import type { Answer } from '../answer/write-answer.ts'
import type { OpenApiDocument } from '../openapi/document.ts'
import type { Pages } from '../request/guard.ts'
import { makeAccountPages } from './account-pages.ts'
import { docsPage, makeDocsAssets, openapiJson, swaggerAnswer } from './docs-page.ts'
import { escapeHtml, inlineSource, pageIcon, pageStyle, staticAnswer } from './page-parts.ts'

const policy = [
  "default-src 'none'",
  `style-src ${inlineSource(pageStyle)}`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const html = (ownUrl: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Moorage</title>
<link rel="icon" href="${pageIcon}">
<style>${pageStyle}</style>
</head>
<body>
<main>
<h1>Moorage</h1>
<p class="lead">One API for users and organizations, roles, clusters and everything that is bound to them. The service is running.</p>
<ul class="links">
<li><a href="/sign-in">Sign in</a><span>With your user name and password</span></li>
<li><a href="/api/v1/docs">API documentation</a><span>Every route, with a form to try it</span></li>
<li><a href="/api/v1/openapi.json">OpenAPI description</a><span>For code generators and tools</span></li>
<li><a href="/api/v1/version">Version</a><span>${escapeHtml(releaseVersion)}</span></li>
</ul>
<h2>First call</h2>
<p>Create an access token with your user name and password; it is shown once.</p>
<pre tabindex="0" role="region" aria-label="Command"><code>curl -u admin ${escapeHtml(ownUrl)}/api/v1/users/admin/tokens \\
  -H 'Content-Type: application/json' -d '{"name": "first"}'</code></pre>
<p>Then send the token, which is <code>sha1</code> of the response, with every call.</p>
<pre tabindex="0" role="region" aria-label="Command"><code>curl -H 'Authorization: token YOUR_TOKEN' ${escapeHtml(ownUrl)}/api/v1/user</code></pre>
<h2>Health</h2>
<p><code>/livez</code>, <code>/readyz</code> and <code>/metrics</code> answer on a listener of their own, <code>MOORAGE_OPS_LISTEN</code>, which is not public unless the operator makes it so.</p>
</main>
<footer>Moorage ${escapeHtml(releaseVersion)}</footer>
</body>
</html>
`

/** Returns the page at the address of the service, which describes the service and links further. `ownUrl` is that address. */
export const startPage = (ownUrl: string): Answer => staticAnswer('text/html; charset=utf-8', html(ownUrl), { 'Content-Security-Policy': policy })

const docsPrefix = '/api/v1/docs/'

/** Returns the pages that the API listener serves in addition to its routes. The document is built and serialised at its first request. */
export const makePages = (makeDocument: () => OpenApiDocument): Pages => {
  const assets = makeDocsAssets()
  const accountPages = makeAccountPages()
  let document: Answer | undefined
  const description = (): Answer => (document ??= openapiJson(makeDocument()))
  return {
    documentation(path, headers) {
      if (path === '/api/v1/openapi.json') return description()
      if (path === '/api/v1/swagger') return swaggerAnswer(headers.accept, description())
      if (path === '/api/v1/docs') return docsPage
      if (path.startsWith(docsPrefix)) return assets(path.slice(docsPrefix.length), String(headers['accept-encoding'] ?? ''))
      return undefined
    },
    frontend: (path, ownUrl) => accountPages(path) ?? startPage(ownUrl),
  }
}
