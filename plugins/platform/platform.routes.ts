import * as t from 'io-ts'
import { defaultPageLimit, maxPageLimit } from '../../core/kernel/page.ts'
import { BrandingRefused, maxAppNameLength } from '../../core/platform/branding.ts'
import { releaseVersion } from '../../core/platform/version.ts'
import { anyone, siteAdmin } from '../kit/access.ts'
import { answer, FreeObjectCodec, freeText, Instant, noted, optional, request, SafeInteger, textLines } from '../kit/codecs.ts'
import { empty, json } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import { APISettings, ServerVersion } from './codecs.ts'

const publicRoute = routesOf({ tag: 'Miscellaneous', access: anyone })
const adminRoute = routesOf({ tag: 'Administration', access: siteAdmin, scopeCategory: 'admin' })

export const getVersion = publicRoute({
  id: 'platform.getVersion',
  method: 'GET',
  path: '/version',
  summary: 'Get the release of the service',
  ok: json(200, ServerVersion, { version: releaseVersion }),
})

export const getApiSettings = publicRoute({
  id: 'platform.getApiSettings',
  method: 'GET',
  path: '/settings/api',
  summary: 'Get the paging and size limits of the API',
  description: 'Clients of code-hosting servers read this before their first list. The git and blob limits are zero: this service does not serve them.',
  ok: json(200, APISettings, {
    max_response_items: maxPageLimit,
    default_paging_num: defaultPageLimit,
    default_git_trees_per_page: 0,
    default_max_blob_size: 0,
    default_max_response_size: 0,
  }),
})

const BrandingResponse = answer(
  {
    logo: t.string,
    favicons: FreeObjectCodec,
    primaryColor: t.string,
    runMode: t.string,
    deploymentType: t.string,
    isOfflineInstaller: t.boolean,
    showAppTag: t.boolean,
    appName: t.string,
  },
  'BrandingResponse',
)

/** 256 KiB in base64, including the prefix. */
const picture = textLines(350_000)
const BrandingOptions = request(
  {
    logo: optional(picture),
    favicon: optional(picture),
    // Answers show it. It is not read.
    favicons: optional(noted(FreeObjectCodec, { description: 'As in the answer. It changes nothing; `favicon` does.' })),
    primaryColor: optional(freeText(7)),
    showAppTag: optional(t.boolean),
    appName: optional(freeText(maxAppNameLength)),
  },
  'BrandingOptions',
)

export const getBranding = publicRoute({
  id: 'platform.getBranding',
  method: 'GET',
  path: '/branding',
  summary: 'Get the appearance of the console',
  description: 'Pictures are `data:` URLs, empty if there is none; `favicons.icon` is the only favicon.',
  tag: 'Administration',
  ok: json(200, BrandingResponse, {
    logo: '', favicons: {}, primaryColor: '#0b6070', runMode: 'production', deploymentType: 'SelfHosted', isOfflineInstaller: false, showAppTag: true, appName: 'Moorage',
  }),
})

export const changeBranding = adminRoute({
  id: 'platform.changeBranding',
  method: 'POST',
  path: '/branding',
  summary: 'Update the appearance of the console; omitted fields do not change, an empty string restores the default',
  description: 'Pictures are PNG, JPEG or WebP of at most 256 KiB as `data:` URLs in base64. SVG is rejected because it can contain scripts.',
  body: body(BrandingOptions, { primaryColor: '#224466', appName: 'Harbour' }),
  ok: empty(200),
  failures: [BrandingRefused],
})

const SiteSummary = answer(
  {
    counts: answer(
      {
        users: SafeInteger,
        activeUsers: SafeInteger,
        siteAdmins: SafeInteger,
        organizations: SafeInteger,
        teams: SafeInteger,
        clusters: SafeInteger,
        sessions: SafeInteger,
        accessTokens: SafeInteger,
      },
      'SiteCounts',
    ),
    version: t.string,
    runtime: t.string,
    startedAt: Instant,
    database: answer({ kind: t.string, version: t.string }, 'SiteDatabase'),
    deploymentType: t.string,
    runMode: t.string,
  },
  'SiteSummary',
)

export const getSiteSummary = adminRoute({
  id: 'platform.getSiteSummary',
  method: 'GET',
  path: '/accounts/admin',
  summary: 'Get the statistics of the service and of its runtime',
  description: '`startedAt` and `runtime` describe the instance that responds.',
  ok: json(200, SiteSummary, {
    counts: { users: 120, activeUsers: 112, siteAdmins: 2, organizations: 14, teams: 45, clusters: 30, sessions: 61, accessTokens: 88 },
    version: releaseVersion,
    runtime: 'Node.js v24.21.0',
    startedAt: '2026-11-21T08:00:00.000Z',
    database: { kind: 'mysql', version: '10.11.6-MariaDB' },
    deploymentType: 'SelfHosted',
    runMode: 'production',
  }),
})

export const getSiteConfig = adminRoute({
  id: 'platform.getSiteConfig',
  method: 'GET',
  path: '/accounts/admin/config',
  summary: 'Get the settings of the service',
  description: 'An object by key of the configuration file, as `moorage config print` prints them; secrets are masked. Settings cannot be changed by the API.',
  ok: json(200, FreeObjectCodec, { listen: '127.0.0.1:3000', deployment_type: 'SelfHosted', log_level: 'info', admin_password: '***' }),
})
