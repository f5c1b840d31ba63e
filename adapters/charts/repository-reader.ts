import { left, right } from 'fp-ts/lib/Either.js'
import type { RepositoryReader, RepositoryReadFailure } from '../../core/chart-repositories/ports.ts'
import type { ChartVersion } from '../../core/chart-repositories/types.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import { ChartSourceUnreachable } from '../../core/packages/chart-ports.ts'
import type { OpenRepository } from './repositories.ts'
import type { IndexedVersion } from './repository-index.ts'
import { toSourceFailure } from './source-errors.ts'

const versionOf = (entry: IndexedVersion): ChartVersion => ({ ...entry, digest: entry.digest === undefined || entry.digest === 'unreadable' ? '' : `sha256:${entry.digest}` })

const reading = async (work: () => Promise<readonly IndexedVersion[]>): Outcome<RepositoryReadFailure, readonly ChartVersion[]> => {
  try {
    return right((await work()).map(versionOf))
  } catch (error) {
    const failure = toSourceFailure(error)
    // Of an index: what was answered is none.
    return left(failure.tag === 'ChartRefused' ? ChartSourceUnreachable(failure.message) : failure)
  }
}

/** RepositoryReader over the same way out as installations have. */
export const makeRepositoryReader = (open: OpenRepository): RepositoryReader => ({
  charts: (access, signal) => reading(async () => open(access).charts(signal)),
  versions: (access, name, signal) => reading(async () => open(access).versions(name, signal)),
})
