import { answer, described, patternText, SafeInteger } from '../kit/codecs.ts'

export const ServerVersion = answer(
  {
    version: described(
      patternText(/^v[0-9]{4}\.[0-9]{1,2}\.[0-9]{1,2}$/, 16, 'v<year>.<month>.<day>'),
      'The release: `v`, the year, month and day, with dots between them.',
    ),
  },
  'ServerVersion',
)

/** Limits on paging and sizes, under the names that code-hosting clients read at start. */
export const APISettings = answer(
  {
    max_response_items: described(SafeInteger, 'The largest number of items on a page.'),
    default_paging_num: described(SafeInteger, 'The number of items on a page if `limit` is not sent.'),
    default_git_trees_per_page: described(SafeInteger, 'Always 0: this service does not serve git trees.'),
    default_max_blob_size: described(SafeInteger, 'Always 0: this service does not serve blobs.'),
    default_max_response_size: described(SafeInteger, 'Always 0: this service does not serve git objects.'),
  },
  'APISettings',
)
