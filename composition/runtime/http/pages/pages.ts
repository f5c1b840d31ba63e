import { readFileSync } from 'node:fs'
import { getOrMake } from '../../../../core/kernel/cache.ts'
import { toWireJson } from '../../../../core/kernel/json.ts'
import type { Answer } from '../answer/packed-answer.ts'
import type { OpenApiDocument } from '../openapi/document.ts'
import { documentOfTag } from '../openapi/tagged.ts'
import type { Pages } from '../guard.ts'
import type { DocsPage } from './docs-page.ts'
import { makeDocsAssets, makeDocsPage } from './docs-page.ts'
import type { StaticSite } from '../../../part/pages/static-site.ts'
import type { WebPage } from '../../../part/pages/web-page.ts'
import { inlineSource, pageFile, pageStyle, renderPage, renderTemplate } from '../../../part/pages/web-page.ts'
import { qualityOf } from '../request/preferences.ts'
import type { PackedAnswer } from '../answer/packed-answer.ts'
import { packedAnswer, staticAnswer } from '../answer/packed-answer.ts'
import { makeSites } from './sites.ts'
import { wayUp } from './way-up.ts'

/** Reports whether a client explicitly prefers HTML to JSON. */
const prefersHtml = (accept: string | undefined): boolean =>
  qualityOf(accept, 'text/html') > qualityOf(accept, 'application/json')

const scriptPrefix = '/account/'

const accountPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src ${inlineSource(pageStyle)}`,
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  // The forms have no action: their scripts send them.
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

/** The scripts that pages share, by file name. */
const sharedScripts: Readonly<Record<string, string>> = Object.fromEntries(
  ['kit.js', 'passkeys.js', 'question.js', 'sign-in-form.js', 'start.js'].map((name) => [
    name,
    pageFile(`scripts/${name}`),
  ]),
)

const textAt = (file: URL): string => readFileSync(file, 'utf8')

/**
 * Returns the answer of a page. It must not be cached, since the address may contain a code. The page itself contains
 * nothing of a request, and no secret.
 */
const pageAnswer = ({ name, title, template }: WebPage, up: string, sites: readonly StaticSite[] = []): PackedAnswer =>
  packedAnswer('text/html; charset=utf-8', renderTemplate(textAt(template), { name, title, up, sites }), {
    'Cache-Control': 'no-store',
    'Content-Security-Policy': accountPolicy,
  })

/** Returns why pages cannot be served: a file that is missing, or a template that is not valid. */
export const pageProblems = (pages: readonly WebPage[]): readonly string[] =>
  pages.flatMap((page) => {
    try {
      pageAnswer(page, './')
      textAt(page.script)
      return []
    } catch (cause) {
      return [`The page ${page.name} cannot be made: ${cause instanceof Error ? cause.message : String(cause)}`]
    }
  })

/**
 * Returns the pages of parts, among them those that mails link to and the sign-in page, and their scripts, by path.
 * They are ordinary clients of the API: opening a page changes nothing.
 */
const makePartPages = (
  pages: readonly WebPage[],
  sites: readonly StaticSite[],
): ((path: string, endsInSlash: boolean) => PackedAnswer | undefined) => {
  const scripts = new Map<string, PackedAnswer>()
  const atPath = new Map<string, WebPage>()
  const made = new Map<string, PackedAnswer>()
  const addScript = (name: string, source: string): void =>
    void scripts.set(`${scriptPrefix}${name}`, packedAnswer('text/javascript; charset=utf-8', source))
  for (const [name, source] of Object.entries(sharedScripts)) addScript(name, source)
  for (const page of pages) {
    atPath.set(`/${page.name}`, page)
    if (page.at !== undefined) atPath.set(page.at, page)
    addScript(`${page.name}.js`, textAt(page.script))
  }
  return (path, endsInSlash) => {
    const page = atPath.get(path) ?? atPath.get(path.replace(/\/[1-9]\d{0,15}(?=\/|$)/, '/{id}'))
    if (page === undefined) return scripts.get(path)
    const up = wayUp(path, endsInSlash)
    return getOrMake(made, `${page.name} ${up}`, () => pageAnswer(page, up, sites))
  }
}

/**
 * Returns the page that describes the service and links further, with 404 at a path where there is no page: a person
 * finds the way, a program the error. `ownUrl` is the address of the service,
 * `sites` are those that it has.
 */
const startPage = (path: string, up: string, ownUrl: string, sites: readonly StaticSite[]): Answer => {
  const page = staticAnswer('text/html; charset=utf-8', renderPage('start', { ownUrl, sites, up }), {
    'Content-Security-Policy': accountPolicy,
    Vary: 'Accept',
  })
  return path === '/' || isMarketplace(path) ? page : { status: 404, headers: page.headers, body: page.body }
}

/**
 * What no page of a frontend can be, and scanners ask for: a hidden file, a file with an ending, a folder of the
 * system.
 */
const noPage = /\.|^\/(?:etc|proc|sys|var|usr|root|cgi-bin)(?:\/|$)/

/** On other deployments, the specification has the frontend answer here, to any client. */
const marketplaceRoot = '/marketplace/api/v1'
const isMarketplace = (path: string): boolean => path.startsWith(`${marketplaceRoot}/`)

/** A path of the API without its root, or without a part of it. */
const likeApi = /^\/(?:v1|api)(?:\/|$)/

/**
 * Reports whether a client would take the start page for an answer of the API: it asks for JSON alone, or for anything
 * at a path like those of the API.
 */
const expectsApi = (path: string, accept: string | undefined): boolean =>
  path !== '/' &&
  !isMarketplace(path) &&
  qualityOf(accept, 'text/html') === 0 &&
  (qualityOf(accept, 'application/json') > 0 || likeApi.test(path))

const docsRoot = '/api/v1/docs'
const operationsRoot = `${docsRoot}/operations/`

interface Description {
  readonly json: PackedAnswer
  /** By tag; undefined for one that no operation has. */
  readonly ofTag: (tag: string) => PackedAnswer | undefined
  readonly page: DocsPage
}

/**
 * Returns the pages that the API listener serves in addition to its routes: those of the document, and those
 * and the sites of parts.
 * The document is built and serialised at its first request.
 */
export const makePages = (
  makeDocument: () => OpenApiDocument,
  ofParts: readonly WebPage[],
  sites: readonly StaticSite[] = [],
): Pages => {
  const asset = makeDocsAssets()
  const partPages = makePartPages(ofParts, sites)
  const ofSites = makeSites(sites)
  let made: Description | undefined
  const described = (): Description => {
    if (made !== undefined) return made
    const document = makeDocument()
    const asJson = (of: OpenApiDocument) =>
      packedAnswer('application/json; charset=utf-8', `${toWireJson(of)}\n`, { Vary: 'Accept' })
    const tagged = new Map(document.tags.map(({ name }) => [name, undefined as PackedAnswer | undefined]))
    return (made = {
      json: asJson(document),
      ofTag: (tag) => {
        if (!tagged.has(tag)) return undefined
        const own = tagged.get(tag) ?? asJson(documentOfTag(document, tag) ?? document)
        tagged.set(tag, own)
        return own
      },
      page: makeDocsPage(document),
    })
  }
  const packed = (path: string, accept: string | undefined, tag: string | null): PackedAnswer | undefined => {
    if (path === '/api/v1/openapi.json') return tag === null ? described().json : described().ofTag(tag)
    if (path === '/api/v1/swagger') return prefersHtml(accept) ? described().page.index : described().json
    if (path === docsRoot) return described().page.index
    if (path.startsWith(operationsRoot)) return described().page.operation(path.slice(operationsRoot.length))
    return path.startsWith(`${docsRoot}/`) ? asset(path.slice(docsRoot.length + 1)) : undefined
  }
  return {
    documentation: (path, headers, query) =>
      packed(path, headers.accept, query.get('tag'))?.(headers['accept-encoding']),
    frontend: (path, ownUrl, headers, endsInSlash = false) =>
      partPages(path, endsInSlash)?.(headers['accept-encoding']) ??
      ofSites(path, endsInSlash, headers['accept-encoding']) ??
      (noPage.test(path) || expectsApi(path, headers.accept)
        ? undefined
        : startPage(path, wayUp(path, endsInSlash), ownUrl, sites)),
  }
}
