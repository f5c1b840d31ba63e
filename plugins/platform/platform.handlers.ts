import { right } from 'fp-ts/lib/Either.js'
import type { FreeObject } from '../../core/kernel/json.ts'
import { defaultPageLimit, maxPageLimit } from '../../core/kernel/page.ts'
import { makeChangeBranding, plainBranding } from '../../core/platform/branding.ts'
import { releaseVersion } from '../../core/platform/version.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import type { PlatformGiven } from './needs.ts'
import { changeBranding, getApiSettings, getBranding, getSiteConfig, getSiteSummary, getVersion } from './platform.routes.ts'
import { definedFields } from '../../core/kernel/fields.ts'

const limits = {
  max_response_items: maxPageLimit,
  default_paging_num: defaultPageLimit,
  default_git_trees_per_page: 0,
  default_max_blob_size: 0,
  default_max_response_size: 0,
}

export const versionRoutes = (): readonly BoundRoute[] => [
  handle(getVersion, () => Promise.resolve(right({ version: releaseVersion }))),
  handle(getApiSettings, () => Promise.resolve(right(limits))),
]

export const brandingRoutes = ({ branding, unitOfWork, facts }: PlatformGiven): readonly BoundRoute[] => {
  const change = makeChangeBranding({ unitOfWork })
  return [
    handle(getBranding, async () => {
      const { favicon, ...look } = (await branding.read()) ?? plainBranding
      return right({
        ...look,
        favicons: favicon === '' ? {} : { icon: favicon },
        runMode: facts.runMode,
        deploymentType: facts.deploymentType,
        isOfflineInstaller: false,
      })
    }),
    handle(changeBranding, ({ call, body }) => change(call, definedFields(body))),
  ]
}

export const siteRoutes = ({ facts }: PlatformGiven): readonly BoundRoute[] => [
  handle(getSiteSummary, async () =>
    right({
      counts: await facts.counts(),
      version: releaseVersion,
      runtime: facts.runtime,
      startedAt: facts.startedAt.toISOString(),
      database: await facts.database(),
      deploymentType: facts.deploymentType,
      runMode: facts.runMode,
    }),
  ),
  handle(getSiteConfig, () => Promise.resolve(right(facts.settings() as FreeObject))),
]
