import { right } from 'fp-ts/lib/Either.js'
import { definedFields } from '../../core/kernel/json.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { defaultPageLimit, maxPageLimit } from '../../core/kernel/page.ts'
import { makeChangeBranding, plainBranding } from '../../core/platform/branding.ts'
import { BrandingStorePort, PlatformUnitOfWorkPort, SiteFactsPort } from '../../core/platform/ports.ts'
import { releaseVersion } from '../../core/platform/version.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import {
  changeBranding,
  getApiSettings,
  getBranding,
  getMarketplaceVersion,
  getSiteConfig,
  getSiteSummary,
  getVersion,
} from './platform.routes.ts'

const limits = {
  max_response_items: maxPageLimit,
  default_paging_num: defaultPageLimit,
  default_git_trees_per_page: 0,
  default_max_blob_size: 0,
  default_max_response_size: 0,
}

export const versionGroup = defineGroup({
  needs: {},
  routes: () => [
    handle(getVersion, async () => right({ version: releaseVersion })),
    handle(getApiSettings, async () => right(limits)),
  ],
})

export const marketplaceVersionGroup = defineGroup({
  needs: {},
  routes: () => [handle(getMarketplaceVersion, async () => right({ version: releaseVersion }))],
})

export const brandingGroup = defineGroup({
  needs: { branding: BrandingStorePort, unitOfWork: PlatformUnitOfWorkPort, facts: SiteFactsPort },
  routes: ({ branding, unitOfWork, facts }) => [
    handle(getBranding, async () => right((await branding.read()) ?? plainBranding), {
      reply: ({ favicon, ...look }) => ({
        ...look,
        favicons: favicon === '' ? {} : { icon: favicon },
        runMode: facts.runMode,
        deploymentType: facts.deploymentType,
        isOfflineInstaller: false,
      }),
    }),
    handle(changeBranding, makeChangeBranding({ unitOfWork }), { input: ({ body }) => definedFields(body) }),
  ],
})

export const siteGroup = defineGroup({
  needs: { facts: SiteFactsPort },
  routes: ({ facts }) => [
    handle(getSiteSummary, async () => right({ counts: await facts.counts(), database: await facts.database() }), {
      reply: ({ counts, database }) => ({
        counts,
        version: releaseVersion,
        runtime: facts.runtime,
        startedAt: facts.startedAt,
        database,
        deploymentType: facts.deploymentType,
        runMode: facts.runMode,
      }),
    }),
    handle(getSiteConfig, async () => right(facts.settings() as FreeObject)),
  ],
})
