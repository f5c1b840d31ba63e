import type { Page, PageRequest } from '../../../core/kernel/page.ts'
import { defaultPageLimit, maxPageLimit } from '../../../core/kernel/page.ts'

/** A higher page number is a mistake, and skipping to its offset would be slow. */
const maxPage = 1_000_000

const wholeNumber = (text: string | null): number | undefined => (text !== null && /^-?\d{1,9}$/.test(text) ? Number(text) : undefined)

/** Reads `page` and `limit` as clients of this interface expect: invalid values and 0 mean the default, too large values are clamped. */
export const pageRequest = (params: URLSearchParams): PageRequest => {
  const page = wholeNumber(params.get('page')) ?? 1
  const limit = wholeNumber(params.get('limit')) ?? 0
  return {
    page: Math.min(Math.max(page, 1), maxPage),
    limit: limit < 1 ? defaultPageLimit : Math.min(limit, maxPageLimit),
  }
}

/** The limit in characters. Each link repeats the query of the caller, and clients refuse an answer whose headers exceed 16 KiB. */
const longestLink = 8 * 1024

const secretParameters = ['token', 'access_token']

/**
 * Returns `Link` (unless it would be too long) and `X-Total-Count`. The URLs are absolute, keep the filters, omit
 * credentials, and have commas encoded.
 */
export const pageHeaders = (url: string, params: URLSearchParams, request: PageRequest, page: Page<unknown>): Record<string, string> => {
  const last = Math.max(1, Math.ceil(page.total / request.limit))
  const link = (rel: string, number: number): string => {
    const query = new URLSearchParams(params)
    for (const name of secretParameters) query.delete(name)
    query.set('page', String(number))
    query.set('limit', String(request.limit))
    return `<${url}?${query.toString()}>; rel="${rel}"`
  }
  const links = [
    ...(request.page < last ? [link('next', request.page + 1), link('last', last)] : []),
    ...(request.page > 1 ? [link('first', 1), link('prev', Math.min(request.page - 1, last))] : []),
  ]
  const joined = links.join(', ')
  return {
    ...(joined === '' || joined.length > longestLink ? {} : { Link: joined }),
    'X-Total-Count': String(page.total),
    ...(page.totalIsCapped === true ? { 'X-Total-Count-Capped': 'true' } : {}),
    'Access-Control-Expose-Headers': 'Link, X-Total-Count',
  }
}
