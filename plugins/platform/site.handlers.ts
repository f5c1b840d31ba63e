import { right } from 'fp-ts/lib/Either.js'
import type { FreeObject } from '../../core/kernel/json.ts'
import { releaseVersion } from '../../core/platform/version.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import type { PlatformGiven } from './needs.ts'
import { getSiteConfig, getSiteSummary } from './site.routes.ts'

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
