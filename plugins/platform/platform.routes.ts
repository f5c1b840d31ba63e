import * as t from 'io-ts'
import { defaultPageLimit, maxPageLimit } from '../../core/kernel/page.ts'
import { BrandingRefused, maxAppNameLength } from '../../core/platform/branding.ts'
import { releaseVersion } from '../../core/platform/version.ts'
import { anyone, siteAdmin } from '../kit/access.ts'
import {
  FreeObjectCodec,
  Instant,
  SafeInteger,
  answer,
  described,
  freeText,
  noted,
  optional,
  patternText,
  request,
  textLines,
} from '../kit/codecs.ts'
import { empty, json } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'

const ServerVersion = answer(
  {
    version: described(
      patternText(/^v[0-9]{4}\.[0-9]{1,2}\.[0-9]{1,2}$/, 16, 'v<year>.<month>.<day>'),
      'The release: `v`, the year, month and day, with dots between them.',
    ),
  },
  'ServerVersion',
)

/** Limits on paging and sizes, under the names that code-hosting clients read at start. */
const APISettings = answer(
  {
    max_response_items: described(SafeInteger, 'The largest number of items on a page.'),
    default_paging_num: described(SafeInteger, 'The number of items on a page if `limit` is not sent.'),
    default_git_trees_per_page: described(SafeInteger, 'Always 0: this service does not serve git trees.'),
    default_max_blob_size: described(SafeInteger, 'Always 0: this service does not serve blobs.'),
    default_max_response_size: described(SafeInteger, 'Always 0: this service does not serve git objects.'),
  },
  'APISettings',
)

const publicRoute = routesOf({ tag: 'Miscellaneous', access: anyone })
const adminRoute = routesOf({ tag: 'Administration', access: siteAdmin, scopeCategory: 'admin' })

export const getVersion = publicRoute({
  id: 'platform.getVersion',
  method: 'GET',
  path: '/version',
  summary: 'Get the release of the service',
  description: 'Needs no credential.',
  ok: json(200, ServerVersion, { version: releaseVersion }),
})

export const getMarketplaceVersion = publicRoute({
  id: 'platform.getMarketplaceVersion',
  method: 'GET',
  path: '/version',
  summary: 'Get the release of the service, on the listener of notifications',
  description: 'Needs no credential, and reads none.',
  tag: 'Marketplace',
  dialect: 'marketplace',
  ok: json(200, ServerVersion, { version: releaseVersion }),
})

export const getApiSettings = publicRoute({
  id: 'platform.getApiSettings',
  method: 'GET',
  path: '/settings/api',
  summary: 'Get the paging and size limits of the API',
  description:
    'Clients of code-hosting servers read this before their first list. The git and blob limits are zero: ' +
    'this service does not serve them.',
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
    logo: described(t.string, 'The logo as a `data:` URL; empty if there is none.'),
    favicons: described(FreeObjectCodec, 'The favicon as a `data:` URL in `icon`; an empty object if there is none.'),
    primaryColor: described(t.string, 'The main color, as #rrggbb.'),
    runMode: described(t.string, 'The mode in which the service runs, such as production.'),
    deploymentType: described(t.string, 'The type of the deployment, such as SelfHosted.'),
    isOfflineInstaller: described(t.boolean, 'Always false; kept for older clients.'),
    showAppTag: described(t.boolean, 'Whether the console shows the name of the application.'),
    appName: described(t.string, 'The name of the application.'),
  },
  'BrandingResponse',
)

/** 256 KiB in base64, including the prefix. */
const picture = textLines(350_000)
const BrandingOptions = request(
  {
    logo: described(
      optional(picture),
      'A PNG, JPEG or WebP of at most 262,144 bytes as a `data:` URL in base64; absent: unchanged, empty: none.',
    ),
    favicon: described(
      optional(picture),
      'A PNG, JPEG or WebP of at most 262,144 bytes as a `data:` URL in base64; absent: unchanged, empty: none.',
    ),
    // Answers show it. It is not read.
    favicons: optional(
      noted(FreeObjectCodec, { description: 'As in the answer. It changes nothing; `favicon` does.' }),
    ),
    primaryColor: described(
      optional(freeText(7)),
      'The main color, as #rrggbb; absent: unchanged, empty: the default.',
    ),
    showAppTag: described(
      optional(t.boolean),
      'Whether the console shows the name of the application; absent: unchanged.',
    ),
    appName: described(
      optional(freeText(maxAppNameLength)),
      'The name of the application, at most 64 characters on one line; absent: unchanged, empty: the default.',
    ),
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
    logo: '',
    favicons: {},
    primaryColor: '#0b6070',
    runMode: 'production',
    deploymentType: 'SelfHosted',
    isOfflineInstaller: false,
    showAppTag: true,
    appName: 'Moorage',
  }),
})

export const changeBranding = adminRoute({
  id: 'platform.changeBranding',
  method: 'POST',
  path: '/branding',
  summary: 'Update the appearance of the console; omitted fields do not change, an empty string restores the default',
  description:
    'Pictures are PNG, JPEG or WebP of at most 256 KiB as `data:` URLs in base64. SVG is rejected because ' +
    'it can contain scripts.',
  body: body(BrandingOptions, { primaryColor: '#224466', appName: 'Harbour' }),
  ok: empty(200),
  failures: [BrandingRefused],
})

const SiteCounts = answer(
  {
    users: described(SafeInteger, 'The number of users, without robot accounts.'),
    activeUsers: described(SafeInteger, 'The number of active users who may sign in, without robot accounts.'),
    siteAdmins: described(SafeInteger, 'The number of site admins.'),
    organizations: described(SafeInteger, 'The number of organizations.'),
    teams: described(SafeInteger, 'The number of teams in all organizations.'),
    clusters: described(SafeInteger, 'The number of clusters of all accounts.'),
    sessions: described(SafeInteger, 'The number of stored sessions.'),
    accessTokens: described(SafeInteger, 'The number of stored access tokens.'),
  },
  'SiteCounts',
)

const SiteDatabase = answer(
  {
    kind: described(t.string, 'The kind of the database, such as mysql or sqlite.'),
    version: described(t.string, 'The version that the database server reports.'),
  },
  'SiteDatabase',
)

const SiteSummary = answer(
  {
    counts: described(SiteCounts, 'How many there are of each kind of object.'),
    version: described(t.string, 'The release of the service.'),
    runtime: described(t.string, 'The runtime of the instance that answers, with its version.'),
    startedAt: described(Instant, 'The start of the instance that answers, RFC 3339 in UTC.'),
    database: described(SiteDatabase, 'The database server.'),
    deploymentType: described(t.string, 'The type of the deployment, such as SelfHosted.'),
    runMode: described(t.string, 'The mode in which the service runs, such as production.'),
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
    counts: {
      users: 120,
      activeUsers: 112,
      siteAdmins: 2,
      organizations: 14,
      teams: 45,
      clusters: 30,
      sessions: 61,
      accessTokens: 88,
    },
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
  description:
    'An object by key of the configuration file, as `moorage config print` prints them; secrets are ' +
    'masked. Settings cannot be changed by the API.',
  ok: json(200, FreeObjectCodec, {
    listen: '127.0.0.1:3000',
    deployment_type: 'SelfHosted',
    log_level: 'info',
    admin_password: '***',
  }),
})
