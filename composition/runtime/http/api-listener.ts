import { AuditDenialsPort } from '../../../core/audit/ports.ts'
import { AuthorizerPort } from '../../../core/authz/ports.ts'
import { hasAccessTokenForm } from '../../../core/identity/tokens/access-tokens.ts'
import {
  AuthenticatorPort,
  CsrfTokensPort,
  IdentitySettingsPort,
  TokenDigestPort,
} from '../../../core/identity/ports.ts'
import { SessionResumptionPort } from '../../../core/identity/sessions/ports.ts'
import { PauseInLongTurnPort } from '../../../core/kernel/clock.ts'
import { IdempotencyStorePort } from '../../../core/kernel/idempotency.ts'
import type { Names } from '../../../plugins/kit/names.ts'
import { makeNames } from '../../../plugins/kit/names.ts'
import type { Assembly, Listener } from '../assemble.ts'
import { listenerRoots } from '../assemble.ts'
import type { WhyClosed } from '../closed-routes.ts'
import type { Boot } from '../../part/boot.ts'
import type { Given } from '../../../plugins/kit/group.ts'
import type { RequestObserver } from './request/request-context.ts'
import { makeAccessLog } from './request/request-context.ts'
import type { ApiServer } from './api-server.ts'
import { makeApiServer } from './api-server.ts'
import { makePacking } from './answer/packed-answer.ts'
import { makeTrustedProxies, makeOwnAddress } from './request/addresses.ts'
import { hostCookieName } from './request/credentials.ts'
import { buildDocument } from './openapi/document.ts'
import type { Tag } from '../../part/tag.ts'
import type { StaticSite } from '../../part/pages/static-site.ts'
import type { WebPage } from '../../part/pages/web-page.ts'
import { makePages } from './pages/pages.ts'
import type { Pages } from './guard.ts'
import { makeRateLimit } from './request/rate-limit.ts'

const namesOf = ({ plugins }: Assembly, serves: readonly Listener[]): Names | undefined => {
  const tables = plugins.flatMap(({ names }) => (names === undefined ? [] : [names]))
  const roots = Object.fromEntries(serves.map((listener) => [listener, listenerRoots[listener]]))
  return tables.length === 0 ? undefined : makeNames(tables, roots)
}

/** A listener without the API has no pages. */
const noPages: Pages = { documentation: () => undefined, frontend: () => undefined }

/** The ports of which a listener is made. */
export const ofApiListener = {
  authenticator: AuthenticatorPort,
  authorizer: AuthorizerPort,
  csrf: CsrfTokensPort,
  idempotency: IdempotencyStorePort,
  denials: AuditDenialsPort,
  digest: TokenDigestPort,
  resumption: SessionResumptionPort,
  sessions: IdentitySettingsPort,
  pauseInLongTurn: PauseInLongTurnPort,
}

export interface ApiListenerInput {
  readonly boot: Boot
  readonly ports: Given<typeof ofApiListener>
  readonly assembly: Assembly
  readonly whyClosed: WhyClosed
  readonly tags: readonly Tag[]
  readonly pages: readonly WebPage[]
  readonly sites: readonly StaticSite[]
  readonly observers: readonly RequestObserver[]
  /** Whose routes it serves. */
  readonly serves: readonly Listener[]
}

/**
 * Returns a listener of this deployment: the assembled routes of the listeners that it serves, on restify. The base URL
 * must already be known: cookies depend on it, and mails link to it.
 */
export const makeApiListener = (input: ApiListenerInput): ApiServer => {
  const { boot, ports, assembly, whyClosed, tags, pages, sites, observers, serves } = input
  const { settings, log } = boot
  const { digest, ...used } = ports
  const baseUrl = boot.baseUrl()
  const sessionCookie = hostCookieName(ports.sessions.sessionCookie, baseUrl.startsWith('https:'))
  const proxies = makeTrustedProxies(settings.trustedProxies)
  const routes = assembly.routes.filter((route) => serves.includes(route.listener))
  return makeApiServer({
    ...used,
    secretBox: boot.secretBox,
    log,
    tracing: boot.tracing,
    scope: boot.scope,
    isAccessToken: (text) => hasAccessTokenForm(text, digest),
    takesQueryTokens: settings.queryTokens,
    rateLimit: makeRateLimit(
      settings.rateLimitPerMinute,
      () => performance.now(),
      boot.processes.topic(`rate limit of ${serves.join(' and ')}`),
    ),
    secureCookies: baseUrl.startsWith('https:'),
    baseUrl,
    docsUrl: `${listenerRoots.api}/docs`,
    packing: makePacking(),
    readings: boot.readings,
    names: namesOf(assembly, serves),
    accessLog: makeAccessLog(log, observers),
    routes,
    mounts: serves.includes('api') ? assembly.mounts : [],
    whyClosed,
    roots: serves.map((listener) => listenerRoots[listener]),
    pages: serves.includes('api')
      ? makePages(
          () =>
            buildDocument(assembly.routes, {
              baseUrl: settings.baseUrl ?? '',
              sessionCookie,
              deployment: boot.deployment,
              tags,
            }),
          pages,
          sites,
        )
      : noPages,
    clientIp: proxies.clientIp,
    ownAddress: makeOwnAddress({ configured: settings.baseUrl, listening: baseUrl, proxies }),
    tls: boot.tls,
  })
}
