/** A page request, 1-based. */
export interface PageRequest {
  readonly page: number
  readonly limit: number
}

/** A page of a list with the number of all rows. `totalIsCapped` says that counting stopped at `total`. */
export interface Page<A> {
  readonly items: readonly A[]
  readonly total: number
  readonly totalIsCapped?: boolean
}

export const defaultPageLimit = 30
export const maxPageLimit = 50

/** The first row of a page, 0-based. */
export const pageOffset = (request: PageRequest): number => (request.page - 1) * request.limit

/** One page of a list that is there as a whole. */
export const pageWithin = <A>(all: readonly A[], request: PageRequest): Page<A> => {
  const offset = pageOffset(request)
  return { items: all.slice(offset, offset + request.limit), total: all.length }
}

export const mapPage = <A, B>(page: Page<A>, f: (item: A) => B): Page<B> => ({ ...page, items: page.items.map(f) })
