import * as t from 'io-ts'
import { releaseVersion } from '../../core/platform/version.ts'
import { read, siteAdmin } from '../kit/access.ts'
import { answer, DateTime, FreeObjectCodec, SafeInteger } from '../kit/codecs.ts'
import { json } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'

const tag = 'Administration'

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
    startedAt: DateTime,
    database: answer({ kind: t.string, version: t.string }, 'SiteDatabase'),
    deploymentType: t.string,
    runMode: t.string,
  },
  'SiteSummary',
)

export const getSiteSummary = defineRoute({
  id: 'platform.getSiteSummary',
  method: 'GET',
  path: '/accounts/admin',
  summary: 'Tell how much there is of everything, and what runs',
  description: '`startedAt` and `runtime` are of the instance that answers.',
  tag,
  access: siteAdmin,
  scope: read('admin'),
  ok: json(200, SiteSummary, {
    counts: { users: 120, activeUsers: 112, siteAdmins: 2, organizations: 14, teams: 45, clusters: 30, sessions: 61, accessTokens: 88 },
    version: releaseVersion,
    runtime: 'Node.js v24.21.0',
    startedAt: '2026-11-21T08:00:00.000Z',
    database: { kind: 'mysql', version: '10.11.6-MariaDB' },
    deploymentType: 'SelfHosted',
    runMode: 'production',
  }),
  failures: [],
})

export const getSiteConfig = defineRoute({
  id: 'platform.getSiteConfig',
  method: 'GET',
  path: '/accounts/admin/config',
  summary: 'Show the settings with which the service runs',
  description: 'An object by key of the configuration file, as `moorage config print` shows them; secrets are masked. Settings are changed where the service is started, not here.',
  tag,
  access: siteAdmin,
  scope: read('admin'),
  ok: json(200, FreeObjectCodec, { listen: '127.0.0.1:3000', deployment_type: 'SelfHosted', log_level: 'info', admin_password: '***' }),
  failures: [],
})
