import type { ProtocolPages } from '../../../adapters/oidc-provider/pages.ts'
import { inlineSource, pageStyle, renderPage } from '../../part/pages/web-page.ts'

/** The pages that the library answers with, in the style of the others. */
export const protocolPages: ProtocolPages = {
  page: (title, html) => renderPage('protocol', { title, html }),
  policy: [
    "default-src 'none'",
    // The library adds the digests of its own scripts.
    "script-src 'self'",
    `style-src ${inlineSource(pageStyle)}`,
    'img-src data:',
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
}
