import { right } from 'fp-ts/lib/Either.js'
import { defaultPageLimit, maxPageLimit } from '../../core/kernel/page.ts'
import { releaseVersion } from '../../core/platform/version.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import { getApiSettings, getVersion } from './version.routes.ts'

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
