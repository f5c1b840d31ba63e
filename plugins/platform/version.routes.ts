import { releaseVersion } from '../../core/platform/version.ts'
import { defaultPageLimit, maxPageLimit } from '../../core/kernel/page.ts'
import { anyone } from '../kit/access.ts'
import { json } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'
import { APISettings, ServerVersion } from './codecs.ts'

export const getVersion = defineRoute({
  id: 'platform.getVersion',
  method: 'GET',
  path: '/version',
  summary: 'Tell the release that answers',
  tag: 'Miscellaneous',
  access: anyone,
  ok: json(200, ServerVersion, { version: releaseVersion }),
  failures: [],
})

export const getApiSettings = defineRoute({
  id: 'platform.getApiSettings',
  method: 'GET',
  path: '/settings/api',
  summary: 'Tell the paging and size limits of the interface',
  description: 'Clients of code-hosting servers read this before their first list. The git and blob limits are zero: nothing here serves them.',
  tag: 'Miscellaneous',
  access: anyone,
  ok: json(200, APISettings, {
    max_response_items: maxPageLimit,
    default_paging_num: defaultPageLimit,
    default_git_trees_per_page: 0,
    default_max_blob_size: 0,
    default_max_response_size: 0,
  }),
  failures: [],
})
