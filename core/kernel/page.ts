/** A page request. Pages are numbered from 1. */
export interface PageRequest {
  readonly page: number
  readonly limit: number
}

/** A page of a list with the total number of rows. `totalIsCapped` reports that counting stopped at `total`. */
export interface Page<A> {
  readonly items: readonly A[]
  readonly total: number
  readonly totalIsCapped?: boolean
}

/** A page of a list with the newest rows first, whose next page begins below a key instead of at a number. */
export interface KeyedPage<A> extends Page<A> {
  /** The next page has the rows below this key. Undefined on the last page. */
  readonly nextBefore: number | undefined
}

/** A page of rows with a key below `before`. Without `before`, pages are numbered. */
export interface KeyedPageRequest extends PageRequest {
  readonly before?: number
}

export const defaultPageLimit = 30
export const maxPageLimit = 50
/**
 * The most rows of a list that is requested as a whole, and of a keyed list that have numbered pages. The pages
 * of `maxPageLimit` after them are whole.
 */
export const maxListRows = 10_000

/** Returns the index of the first row of a page, counted from 0. */
export const pageOffset = (request: PageRequest): number => (request.page - 1) * request.limit

/** Returns one page of a list in memory. */
export const pageWithin = <A>(all: readonly A[], request: PageRequest): Page<A> => {
  const offset = pageOffset(request)
  return { items: all.slice(offset, offset + request.limit), total: all.length }
}

export const mapPage = <A, B>(page: Page<A>, f: (item: A) => B): Page<B> => ({ ...page, items: page.items.map(f) })

/**
 * Returns the rows of a list that is read piece by piece: `read` returns the rows whose ids are greater than `after`,
 * ascending by id and at most `limit`. A piece is read when the row before it has been taken.
 */
export async function* rowsById<Row extends { readonly id: number }>(
  limit: number,
  read: (after: number, limit: number) => Promise<readonly Row[]>,
): AsyncGenerator<Row> {
  for (let after = 0; ;) {
    const rows = await read(after, limit)
    yield* rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < limit) return
    after = last.id
  }
}
