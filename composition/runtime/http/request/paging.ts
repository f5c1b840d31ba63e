import type { KeyedPage, Page, PageRequest } from '../../../../core/kernel/page.ts'
import { defaultPageLimit, maxListRows, maxPageLimit } from '../../../../core/kernel/page.ts'

/** No list is as long. The offset of this page is a safe integer, and is passed to the database. */
const maxPage = 1_000_000_000_000

/** Returns the number, `maxPage` for any larger one, or undefined for other text. */
const wholeNumber = (text: string | null): number | undefined =>
  text !== null && /^-?\d+$/.test(text) ? Math.min(Number(text), maxPage) : undefined

/** Reports whether `page` or `limit` has a value that is used: a whole number from 1. */
export const isWholeNumber = (text: string | null): boolean => (wholeNumber(text) ?? 0) > 0

/**
 * Reads `page` and `limit` as clients of this interface expect: invalid values and 0 mean the default, and a larger
 * limit than the maximum means the maximum. Without both parameters the whole list is requested, if `isWhole`.
 */
export const pageRequest = (params: URLSearchParams, isWhole: boolean): PageRequest => {
  if (isWhole && !params.has('page') && !params.has('limit')) return { page: 1, limit: maxListRows }
  const page = wholeNumber(params.get('page')) ?? 1
  const limit = wholeNumber(params.get('limit')) ?? 0
  return { page: Math.max(page, 1), limit: limit < 1 ? defaultPageLimit : Math.min(limit, maxPageLimit) }
}

/**
 * The limit in characters. Each link repeats the query of the caller, and clients refuse an answer whose headers exceed
 * 16 KiB.
 */
const longestLink = 8 * 1024

const secretParameters = ['token', 'access_token']

/** Returns why a page of a keyed list cannot be requested by its number. */
export const tooDeepPage = ({ page, limit }: PageRequest): string | undefined =>
  page * limit > maxListRows
    ? `Pages are numbered up to ${maxListRows} items. Follow the link with rel="next" of the first page to read further.`
    : undefined

/** Returns the parameters of the linked pages of a keyed list. */
const keyedPages = (
  params: URLSearchParams,
  request: PageRequest,
  page: KeyedPage<unknown>,
  limit: number,
): readonly (readonly [rel: string, name: 'page' | 'before', value: number])[] => [
  ...(page.nextBefore === undefined ? [] : [['next', 'before', page.nextBefore] as const]),
  ...(params.has('before')
    ? [['first', 'page', 1] as const]
    : linkedPages(request, page, limit).flatMap(([rel, number]) =>
        rel === 'next' ? [] : [[rel, 'page', number] as const],
      )),
]

/** Returns the numbers of the linked pages. The last page of a list that was not counted to its end is unknown. */
const linkedPages = (
  request: PageRequest,
  { items, total, totalIsCapped }: Page<unknown>,
  limit: number,
): readonly (readonly [rel: string, page: number])[] => {
  const last = Math.max(1, Math.ceil(total / limit))
  const isCapped = totalIsCapped === true
  const next = (request.page * request.limit) / limit + 1
  const hasNext = isCapped ? items.length >= request.limit : next <= last
  return [
    ...(hasNext ? [['next', next] as const, ...(isCapped ? [] : [['last', last] as const])] : []),
    ...(request.page > 1
      ? [
          ['first', 1] as const,
          ['prev', items.length === 0 ? Math.min(request.page - 1, last) : request.page - 1] as const,
        ]
      : []),
  ]
}

/**
 * Returns `Link` (unless it would be too long), `X-Total-Count`, and `X-Per-Page` of a page. The URLs are absolute,
 * keep the filters, omit credentials, and have commas encoded. The rest of a list that exceeds one answer is linked by
 * pages.
 */
export const pageHeaders = (
  url: string,
  params: URLSearchParams,
  request: PageRequest,
  page: Page<unknown>,
): Record<string, string> => {
  const isWhole = request.limit > maxPageLimit
  const limit = isWhole ? maxPageLimit : request.limit
  const link = ([rel, name, value]: readonly [string, string, number]): string => {
    const query = new URLSearchParams(params)
    for (const omitted of [...secretParameters, name === 'page' ? 'before' : 'page']) query.delete(omitted)
    query.set(name, String(value))
    query.set('limit', String(limit))
    return `<${url}?${query.toString()}>; rel="${rel}"`
  }
  const isAllThere = isWhole && page.items.length < request.limit
  const numbered = () => linkedPages(request, page, limit).map(([rel, number]) => [rel, 'page', number] as const)
  const pages = 'nextBefore' in page ? keyedPages(params, request, page as KeyedPage<unknown>, limit) : numbered()
  const joined = (isAllThere ? [] : pages).map(link).join(', ')
  return {
    ...(joined === '' || joined.length > longestLink ? {} : { Link: joined }),
    'X-Total-Count': String(page.total),
    ...(page.totalIsCapped === true ? { 'X-Total-Count-Capped': 'true' } : {}),
    ...(isWhole ? {} : { 'X-Per-Page': String(limit) }),
    'Access-Control-Expose-Headers': 'Link, X-Total-Count, X-Per-Page',
  }
}
