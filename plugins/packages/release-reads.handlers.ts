import { isLeft, right } from 'fp-ts/lib/Either.js'
import { makeReleaseReads, type ReleaseReadDeps } from '../../core/packages/release-reads.ts'
import { handle, type BoundRoute } from '../kit/route.ts'
import { getReleaseContent, getReleaseHistory, getReleaseStatus, listReleases } from './release-reads.routes.ts'
import { toRelease, toReleaseRow, toReleaseState } from './release-wire.ts'

/** Lists, history, content and status of releases. */
export const releaseReadHandlers = (given: ReleaseReadDeps): readonly BoundRoute[] => {
  const reads = makeReleaseReads(given)
  return [
    handle(listReleases, async ({ call, grant, body: { full, ...options } }) => {
      const rows = await reads.list(call, grant, options, full === true)
      return isLeft(rows) ? rows : right(rows.right.map(toReleaseRow))
    }),
    handle(getReleaseHistory, async ({ call, grant, params: { name }, query: { max, namespace, full } }) => {
      const rows = await reads.history(call, grant, { name, namespace }, { max, isFull: full })
      return isLeft(rows) ? rows : right(rows.right.map(toReleaseRow))
    }),
    handle(getReleaseContent, async ({ call, grant, params: { name }, query: { namespace, version } }) => {
      const release = await reads.content(call, grant, { name, namespace }, version)
      return isLeft(release) ? release : right(toRelease(release.right))
    }),
    handle(getReleaseStatus, async ({ call, grant, params: { name }, query: { namespace, version } }) => {
      const release = await reads.content(call, grant, { name, namespace }, version)
      return isLeft(release) ? release : right(toReleaseState(release.right))
    }),
  ]
}
