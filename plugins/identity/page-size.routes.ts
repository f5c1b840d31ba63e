import { PageSizeInvalid } from '../../core/identity/page-sizes.ts'
import { read, signedIn, write } from '../kit/access.ts'
import { json } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { Pagination, PaginationParams } from './codecs.ts'

const tag = 'Identity - Users & Settings'
const path = '/user/settings/pagination'
const example = { productUI: 10, consoleUI: 10, platformUI: 25 }

export const getPageSizes = defineRoute({
  id: 'identity.getPageSizes',
  method: 'GET',
  path,
  summary: 'Show how many rows a page of each user interface has',
  description: 'A memory for user interfaces, 10 until something was chosen. The lists of this interface take `limit` instead.',
  tag,
  access: signedIn,
  scope: read('user'),
  ok: json(200, Pagination, example),
  failures: [],
})

export const changePageSizes = defineRoute({
  id: 'identity.changePageSizes',
  method: 'POST',
  path,
  summary: 'Choose how many rows a page of each user interface has',
  description: '1 to 1,000; what is absent stays as it is.',
  tag,
  access: signedIn,
  scope: write('user'),
  body: body(PaginationParams, { platformUI: 25 }),
  ok: json(200, Pagination, example),
  failures: [PageSizeInvalid],
})
