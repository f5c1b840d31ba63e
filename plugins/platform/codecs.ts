import { answer, patternText, SafeInteger } from '../kit/codecs.ts'

export const ServerVersion = answer(
  { version: patternText(/^v[0-9]{4}\.[0-9]{1,2}\.[0-9]{1,2}$/, 16, 'v<year>.<month>.<day>') },
  'ServerVersion',
)

/** Limits on paging and sizes, under the names that code-hosting clients read at start. */
export const APISettings = answer(
  {
    max_response_items: SafeInteger,
    default_paging_num: SafeInteger,
    default_git_trees_per_page: SafeInteger,
    default_max_blob_size: SafeInteger,
    default_max_response_size: SafeInteger,
  },
  'APISettings',
)
